#pragma once

#include "core/element.h"
#include "elements/ip6/addresses.h"

namespace heddle {

/** CheckIP6Header: lets valid IPv6 headers pass and marks them.
 *
 *      CheckIP6Header([BADADDRS, OFFSET])
 *
 *  OFFSET: byte of the packet where the IPv6 header begins, default 0, up to 16384; 14 in an Ethernet frame. BADADDRS:
 *  addresses that are accepted neither as source nor as destination, separated by spaces; default none. Both are
 *  keywords, too; a single argument without one is BADADDRS, as in Click, or if it is a number, OFFSET.
 *
 *  For packets that pass it sets the annotations l3 (the header) and l4 (what follows its 40 bytes, a transport or an
 *  extension header), and cuts bytes behind the IPv6 packet (Ethernet padding). IPv6 headers have no checksum. A
 *  payload length of 0 is taken as it stands: jumbograms (RFC 2675) are not known.
 *
 *  Output 0: valid packets. Output 1, if connected: the others, with their annotations 0. If not, they are dropped:
 *  "short" (fewer than 40 bytes), "bad_version", "bad_length" (the payload length says more than there is),
 *  "bad_source", "bad_destination" (BADADDRS, and a source that is a multicast address or a destination that is ::).
 *  RFC 8200, section 3; RFC 4291, sections 2.5.2 and 2.7.
 *
 *  Handlers: `count` (r): valid packets; `drops` (r): others, whether dropped or sent to output 1.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIP6Header(OFFSET 14) -> ToDump(valid.pcap);
 */
class CheckIP6Header : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  bool changes_length() const override { return true; }  // cuts what lies behind the IPv6 packet
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  enum Reason : int { kValid = -1, kShort, kBadVersion, kBadLength, kBadSource, kBadDestination };

  Reason check(const uint8_t* header, uint32_t room) const;

  int offset_ = 0;
  Ip6Arguments bad_addresses_;
  PerThreadCounts valid_{counts}, bad_{counts};
};

}  // namespace heddle
