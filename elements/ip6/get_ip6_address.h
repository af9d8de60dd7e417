#pragma once

#include "core/element.h"

namespace heddle {

/** GetIP6Address: says where the IPv6 destination address of packets is.
 *
 *      GetIP6Address(OFFSET)
 *
 *  OFFSET: byte of the packet where the address begins: 24 in an IPv6 header, 38 in an Ethernet frame. In Click it is
 *  copied from there to an annotation, and LookupIP6Route looks that up; here LookupIP6Route looks up the destination
 *  of the header that CheckIP6Header or MarkIP6Header has marked (annotation l3), so other offsets are errors. Packets
 *  whose header is marked elsewhere are dropped ("not_there"), others pass unchanged. One input, one output.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> GetIP6Address(24) -> LookupIP6Route(2001:db8::/32 0)
 *          -> ToDump(out.pcap);
 */
class GetIP6Address : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.column_reads = columns(Column::l3)}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  uint32_t header_at_ = 0;
};

/** SetIP6Address: sets the next hop of IPv6 packets.
 *
 *      SetIP6Address(IP6)
 *
 *  IP6: an IPv6 address; `::` means none. Sets the annotation dst to the address's number as a gateway, as
 *  LookupIP6Route does, so that IP6NDSolicitor sends packets there, and IP6Encap and UDPIP6Encap with DST_ANNO write
 *  it. (In Click the annotation is also what LookupIP6Route looks up; here that looks up the destination in the
 *  header.) One input, one output; the packet stays as it is.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> SetIP6Address(2001:db8::1) -> IP6Encap(ip6, 2001:db8::2, DST_ANNO)
 *          -> EtherEncap(0x86dd, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
 */
class SetIP6Address : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.column_writes = columns(Column::dst)}; }
  void run_cpu(Batch& batch) override;

 private:
  uint32_t number_ = 0;  // of the address
};

}  // namespace heddle
