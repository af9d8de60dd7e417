#pragma once

#include "core/element.h"

namespace heddle {

/** SetPacketType: sets what the link says a packet is.
 *
 *      SetPacketType(TYPE)
 *
 *  TYPE: HOST (to this host), BROADCAST, MULTICAST, OTHERHOST, OUTGOING or LOOPBACK. Sets the annotation link, which
 *  sources of Ethernet frames and HostEtherFilter set as well; DropBroadcasts drops broadcasts and multicasts, and
 *  ICMPError answers none of them. One input, one output.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> SetPacketType(HOST) -> DropBroadcasts -> Discard;
 */
class SetPacketType : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override { return {.column_writes = columns(Column::link)}; }
  void run_cpu(Batch& batch) override;

 private:
  uint32_t type_ = 0;
};

}  // namespace heddle
