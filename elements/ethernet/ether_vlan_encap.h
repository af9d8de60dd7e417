#pragma once

#include "core/element.h"
#include "elements/ethernet/atomic_address.h"

namespace heddle {

/** EtherVLANEncap: puts an Ethernet header with a VLAN tag before packets.
 *
 *      EtherVLANEncap(ETHERTYPE, SRC, DST, VLAN [, VLAN_PCP, keyword NATIVE_VLAN])
 *
 *  ETHERTYPE: of what follows the tag, 0 to 65535, 0x0800 for IPv4; the tag's own is 0x8100. SRC and DST: Ethernet
 *  addresses. VLAN: 0 to 4094, or ANNO: VLAN and priority of the annotation vlan, which VLANDecap sets. VLAN_PCP:
 *  priority, 0 to 7, default 0. NATIVE_VLAN: with ANNO, packets of this VLAN get an Ethernet header without tag; -1
 *  (default): none. One input, one output. Drops packets with less room before them than the 18 bytes ("no_headroom"),
 *  and those that would be too long ("too_long"). IEEE 802.1Q, 9. Also called EtherVlanEncap.
 *
 *  Handlers: `src`, `dst`, `ethertype` (rw); `vlan`, `vlan_pcp` (rw; they cannot be written if VLAN is ANNO).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> EtherVLANEncap(0x0800, 0:1:2:3:4:5, 6:7:8:9:a:b, 7)
 *          -> ToDump(out.pcap);
 */
class EtherVLANEncap : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override;
  int moves_head() const override { return native_ < 0 ? -18 : 0; }
  bool head_varies() const override { return native_ >= 0; }
  bool changes_length() const override { return native_ >= 0; }
  int prepends() const override { return 18; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  enum Reason : int { kNoHeadroom, kTooLong };

  AtomicEthernetAddress src_, dst_;
  std::atomic<uint16_t> ethertype_{0}, vlan_{0}, priority_{0};
  bool from_annotation_ = false;
  int native_ = -1;
};

}  // namespace heddle
