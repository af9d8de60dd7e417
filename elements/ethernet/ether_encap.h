#pragma once

#include <array>

#include "core/element.h"
#include "elements/ethernet/atomic_address.h"

namespace heddle {

/** EtherEncap: puts an Ethernet header before packets.
 *
 *      EtherEncap(ETHERTYPE, SRC, DST)
 *
 *  ETHERTYPE: 0 to 65535, 0x0800 for IPv4. SRC and DST: Ethernet addresses. One input, one output. The 14 bytes go
 *  where Strip has removed some, or into the room before the packet. Drops packets with less room before them
 *  ("no_headroom"), and those that would be too long ("too_long").
 *
 *  Handlers: `src` (rw), `dst` (rw), `ethertype` and `etht` (rw): decimal when read. IEEE 802.3, 3.2.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> EtherEncap(0x0800, 0:1:2:3:4:5, 6:7:8:9:a:b)
 *          -> ToDump(out.pcap);
 */
class EtherEncap : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override { return {.writes = {{Base::head, -14, 0}}}; }
  int moves_head() const override { return -14; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  AtomicEthernetAddress src_, dst_;
  std::atomic<uint16_t> ethertype_{0};
};

/** EnsureEther: puts an Ethernet header before IP packets that have none.
 *
 *      EnsureEther([ETHERTYPE, SRC, DST])
 *
 *  Packets whose IP header (annotation l3) begins at byte 14, behind an Ethernet type of IPv4 or IPv6, and those
 *  without an IP header pass unchanged. Where the IP header begins at byte 0 and such a type lies right before it, as
 *  Strip(14) leaves it, the packet gets these 14 bytes back. Others lose what is before their IP header, and get a
 *  header of ETHERTYPE (default 0x0800), SRC (default 1:1:1:1:1:1) and DST (default 2:2:2:2:2:2). One input, one
 *  output. Drops packets without room for it ("no_headroom"), and those that would be too long ("too_long").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> EnsureEther(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2)
 *          -> ToDump(out.pcap);
 */
class EnsureEther : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  int prepends() const override { return 14; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  std::array<uint8_t, 14> header_{};
};

}  // namespace heddle
