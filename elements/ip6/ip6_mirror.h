#pragma once

#include "core/element.h"

namespace heddle {

/** IP6Mirror: swaps source and destination of IPv6 packets.
 *
 *      IP6Mirror
 *
 *  The IPv6 header is at annotation l3. Addresses change places, and with TCP and UDP, also behind extension headers
 *  but not in later fragments, the ports, as far as these are within the packet. Checksums stay as they are: what
 *  changes places leaves them right. The annotation dst stays, too. One input, one output. Drops packets without 40
 *  bytes of header at l3 ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIP6Header(OFFSET 14) -> IP6Mirror -> EtherMirror -> ToDump(out.pcap);
 */
class IP6Mirror : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
};

/** SetIP6DSCP: sets the differentiated services code point of IPv6 packets.
 *
 *      SetIP6DSCP(DSCP)
 *
 *  DSCP: 0 to 63, the upper bits of the traffic class; the two bits of ECN stay. The header is at annotation l3. One
 *  input, one output. Drops packets without 40 bytes of header at l3 ("no_header"). RFC 2474.
 *
 *  Handlers: `dscp` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIP6Header(OFFSET 14) -> SetIP6DSCP(46) -> ToDump(out.pcap);
 */
class SetIP6DSCP : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> dscp_{0};
};

}  // namespace heddle
