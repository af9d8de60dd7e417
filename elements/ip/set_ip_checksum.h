#pragma once

#include "core/element.h"

namespace heddle {

/** SetIPChecksum: computes the checksum of the IPv4 header.
 *
 *      SetIPChecksum
 *
 *  One input, one output. The header is the one that MarkIPHeader or CheckIPHeader has marked (annotation l3); options
 *  are part of it. Drops packets whose header is not marked, shorter than 20 bytes, or not within the packet
 *  ("bad_header"). RFC 791, 3.1; RFC 1071.
 *
 *  Handlers: `drops` (r): packets dropped.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> MarkIPHeader(14) -> SetIPChecksum -> ToDump(out.pcap);
 */
class SetIPChecksum : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  PerThreadCounts dropped_{counts};
};

}  // namespace heddle
