#pragma once

#include "core/element.h"
#include "elements/ip/address_place.h"

namespace heddle {

/** GetIPAddress: sets the destination address annotation from the packet.
 *
 *      GetIPAddress(OFFSET [, ANNO])
 *      GetIPAddress(IP src|dst [, ANNO])
 *
 *  OFFSET: byte of the packet where the IPv4 address begins, 0 to 16384: 16 in an IPv4 header, 30 in an Ethernet frame.
 *  IP: which address of the IPv4 header that CheckIPHeader or MarkIPHeader has marked (annotation l3). ANNO: DST_IP (or
 *  its number in Click, 0), the only annotation of four bytes that there is. One input, one output. With OFFSET it runs
 *  inside segments of either processor. Drops packets that end before the address does ("short").
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> Strip(14) -> GetIPAddress(16) -> rt :: DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1);
 *      rt[0] -> ToDump(inside.pcap); rt[1] -> ToDump(outside.pcap);
 */
class GetIPAddress : public NeutralElement {
 public:
  void configure(click::Arguments& arguments) override;
  std::optional<NeutralOp> neutral() const override;
  Access access(Processor processor) const override;
  std::span<const char* const> drop_reasons() const override;
  int moves_head() const override { return 0; }
  void run_cpu(Batch& batch) override;

 private:
  AddressPlace place_;
};

}  // namespace heddle
