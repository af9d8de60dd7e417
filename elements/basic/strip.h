#pragma once

#include "core/element.h"

namespace heddle {

/** Strip: removes bytes from the start of packets.
 *
 *      Strip(LENGTH)
 *
 *  LENGTH: bytes to remove, 0 to 16384. Nothing is copied: the packet begins later, and Unstrip can take the bytes
 *  back. Runs inside segments of either processor. Drops packets shorter than LENGTH ("short").
 *
 *  Example, look at the IPv4 header behind an Ethernet header:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> Unstrip(14) -> ToDump(ip.pcap);
 */
class Strip : public NeutralElement {
 public:
  void configure(click::Arguments& arguments) override;
  std::optional<NeutralOp> neutral() const override { return NeutralOp{NeutralOp::kMoveHead, bytes_}; }

 private:
  int bytes_ = 0;
};

}  // namespace heddle
