#pragma once

#include "core/element.h"
#include "elements/ethernet/atomic_address.h"

namespace heddle {

/** HostEtherFilter: keeps the frames that are for this host.
 *
 *      HostEtherFilter(ETHER [, DROP_OWN, DROP_OTHER, keywords DROP_OWN, DROP_OTHER, OFFSET])
 *
 *  ETHER: the host's Ethernet address. DROP_OWN: whether frames that it has sent itself are refused, default false.
 *  DROP_OTHER: whether those for other hosts are, default true. OFFSET: byte of the packet where the frame begins,
 *  default 0. Sets the annotation link: to this host, broadcast, multicast, or to another host. What is refused leaves
 *  by output 1, if it is connected, or is dropped ("own", "other_host"). Packets that end before the addresses do are
 *  dropped ("short").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> HostEtherFilter(2:0:0:0:0:1) -> Strip(14) -> CheckIPHeader -> DropBroadcasts -> Discard;
 */
class HostEtherFilter : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  enum Reason : int { kShort, kOwn, kOtherHost };

  click::EthernetAddress address_;
  bool drop_own_ = false, drop_other_ = true;
  uint32_t offset_ = 0;
};

/** DropBroadcasts: drops packets that came by link broadcast or multicast.
 *
 *      DropBroadcasts
 *
 *  As the annotation link says: sources of Ethernet frames and HostEtherFilter set it. One input, one output. Such
 *  packets are dropped ("broadcast"), as RFC 1812, 5.3.4 wants before they are forwarded.
 *
 *  Handlers: `drops` (r).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> DropBroadcasts -> Discard;
 */
class DropBroadcasts : public Element {
 public:
  Access access(Processor) const override { return {.column_reads = columns(Column::link)}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  PerThreadCounts dropped_{counts};
};

}  // namespace heddle
