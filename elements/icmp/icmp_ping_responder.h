#pragma once

#include "core/element.h"
#include "core/sets_first.h"

namespace heddle {

/** ICMPPingResponder: answers pings.
 *
 *      ICMPPingResponder
 *
 *  Packets are IPv4, their header marked by annotation l3. Echo requests become replies in place: addresses swapped,
 *  type 0, TTL 255, checksums corrected; the annotation dst is the sender. Output 0: the replies. Output 1, if
 *  connected: all other packets, unchanged; if not, they are dropped: "not_ping", or "no_header" without a header at
 *  l3, or "fragment" if it is one, or "bad_address" if a ping is to or from something that is no host: 0.0.0.0, a
 *  multicast address, 255.255.255.255. (RFC 792, RFC 1122 3.2.1.3, 3.2.2.6. Options are left as they are.)
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> ICMPPingResponder -> Unstrip(14) -> ToDump(out.pcap);
 */
class ICMPPingResponder : public Element, public SetsFirst {
 public:
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  ColumnSet sets_first() const override { return columns(Column::dst); }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  enum Reason : int { kNotPing, kNoHeader, kFragment, kBadAddress };
};

}  // namespace heddle
