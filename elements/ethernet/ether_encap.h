#pragma once

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
  Access access(Processor) const override { return {.writes = {{Base::head, -14, 0}}}; }
  int moves_head() const override { return -14; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  AtomicEthernetAddress src_, dst_;
  std::atomic<uint16_t> ethertype_{0};
};

}  // namespace heddle
