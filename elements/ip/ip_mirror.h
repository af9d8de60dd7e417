#pragma once

#include "core/element.h"

namespace heddle {

/** IPMirror: swaps source and destination of IPv4 packets.
 *
 *      IPMirror
 *
 *  The IPv4 header is at annotation l3. Addresses change places, and with TCP and UDP, but in later fragments, the
 *  ports, with TCP also sequence number and acknowledgement, as far as these are within the packet. Checksums stay as
 *  they are: what changes places leaves them right. The annotation dst stays, too. One input, one output. Drops packets
 *  without a header at l3 ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPMirror -> EtherMirror -> ToDump(out.pcap);
 */
class IPMirror : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
