#pragma once

#include "core/element.h"

namespace heddle {

/** GetIPAddress: sets the destination address annotation from the packet.
 *
 *      GetIPAddress(OFFSET [, ANNO])
 *
 *  OFFSET: byte of the packet where the IPv4 address begins, 0 to 16384: 16 in an IPv4 header, 30 in an Ethernet frame.
 *  ANNO: DST_IP (or its number in Click, 0), the only annotation of four bytes that there is. One input, one output.
 *  Runs inside segments of either processor. Drops packets that end before the address does ("short").
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> Strip(14) -> GetIPAddress(16) -> rt :: DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1);
 *      rt[0] -> ToDump(inside.pcap); rt[1] -> ToDump(outside.pcap);
 */
class GetIPAddress : public NeutralElement {
 public:
  void configure(click::Arguments& arguments) override;
  std::optional<NeutralOp> neutral() const override { return NeutralOp{NeutralOp::kLoadDst, offset_}; }

 private:
  int offset_ = 0;
};

}  // namespace heddle
