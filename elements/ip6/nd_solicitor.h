#pragma once

#include <string>

#include "elements/arp/neighbour_querier.h"
#include "elements/ip6/gateways.h"

namespace heddle {

/** What IP6NDSolicitor says and understands. */
struct NdProtocol {
  using Address = AddressWords<uint64_t, 2>;
  struct Answer {
    Address address;
    click::EthernetAddress ethernet;
    bool overrides = false;
  };
  static constexpr const char* kName = "ND";
  static constexpr uint16_t kEtherType = 0x86dd;
  static constexpr uint32_t kMinBytes = 40, kQueryBytes = 86;
  static constexpr bool kOnlyAsked = true;

  Address next_hop(uint32_t dst, const Packet* packet) const;
  bool fixed(const Address& address, click::EthernetAddress& to) const;
  static bool answer(const uint8_t* frame, uint32_t bytes, Answer& answer);
  void write_query(uint8_t* frame, const click::EthernetAddress& ethernet, const Address& address) const;
  static std::string text(const Address& address);
  static Address parse(const std::string& text);

  Ip6 ip{};
};

/** IP6NDSolicitor: puts Ethernet headers before IPv6 packets, and asks for the addresses that it does not know.
 *
 *      IP6NDSolicitor(IP6, ETH, [keywords TIMEOUT, POLL_TIMEOUT, CAPACITY, ENTRY_CAPACITY, ENTRY_PACKET_CAPACITY])
 *
 *  As ARPQuerier, for IPv6. IP6, ETH: addresses of the interface behind. TIMEOUT: how long an address is good for,
 *  default 5 min. POLL_TIMEOUT: age at which it is asked for again while it is still used, default 1 min; 0: never.
 *  CAPACITY: packets that may wait for addresses, default 2048. ENTRY_CAPACITY: addresses that it knows at a time,
 *  default 1024, 0: 1,048,576; the oldest go for new ones. ENTRY_PACKET_CAPACITY: packets that may wait for one
 *  address, default an eighth of CAPACITY, 0: CAPACITY; the oldest go for new ones (RFC 4861, 7.2.2).
 *
 *  Input 0: IPv6 packets without Ethernet header that a LookupIP6Route has routed: to its gateway or, without one, to
 *  the destination. Input 1: neighbour advertisements with their Ethernet header (also others: only advertisements are
 *  looked at). Output 0: Ethernet frames, and, without output 1, neighbour solicitations. Output 1: those. Output 2:
 *  packets, as they came, for which nobody has answered; a MarkIP6Header and an ICMP6Error there tell their senders
 *  (RFC 4861, 7.2.2). Push.
 *
 *  A packet whose next hop is not known waits; an address is asked for at most ten times a second while packets come
 *  for it, and once a second else, by the multicast group of its owner. Without an answer for three seconds its packets
 *  leave by output 2 or, if there is none, are dropped ("unanswered"). Other drops: "queue_full", CAPACITY packets or
 *  1024 addresses wait, or there are newer ones for the address, so that packets to addresses that there are not
 *  (RFC 6583) take no more room; "no_address", the destination is :: or the packet shorter than its header;
 *  "no_headroom", "too_long". Packets on input 1 end here: "learnt", or "not_advertisement". Known addresses that are
 *  due to be asked for again are, once a second while packets come for them, however many others wait. What nobody has
 *  asked for is not believed, nor what has not come from the link, has a wrong checksum, or changes a known address
 *  without the flag for it (RFC 4861, 7.1.2, 7.2.5).
 *
 *  Hot reconfiguration: addresses stay known, and if CAPACITY and the annotations that are read behind are as before,
 *  packets go on waiting. Also called NDSol and ARPQuerier6, as in old configurations of Click.
 *
 *  Handlers: `table` (r): as ARPQuerier's; `count` (r): addresses of that; `length` (r): packets
 *  that wait; `queries`, `responses`, `drops` (r; also what has left by output 2); `stats` (r); `insert` (w, IP6 ETH),
 *  `delete` (w, IP6), `clear` (w); `ipaddr` (r).
 *
 *  Example:
 *
 *      FromDevice(eth0) -> c :: Classifier(12/86dd 20/3aff 54/88, 12/86dd);
 *      q :: IP6NDSolicitor(2001:db8::1, 2:0:0:0:0:1) -> ToDevice(eth0); c[0] -> [1]q;
 *      c[1] -> Strip(14) -> CheckIP6Header -> LookupIP6Route(2001:db8::/64 0, ::/0 2001:db8::9 0) -> q;
 */
class IP6NDSolicitor : public NeighbourQuerier<NdProtocol> {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;
};

}  // namespace heddle
