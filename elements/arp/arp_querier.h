#pragma once

#include <atomic>
#include <string>

#include "elements/arp/neighbour_querier.h"

namespace heddle {

/** What ARPQuerier says and understands. */
struct ArpProtocol {
  using Address = AddressWords<uint32_t, 1>;
  struct Answer {
    Address address;
    click::EthernetAddress ethernet;
    bool overrides = true;
  };
  static constexpr const char* kName = "ARP";
  static constexpr uint16_t kEtherType = 0x0800;
  static constexpr uint32_t kMinBytes = 0, kQueryBytes = 60;
  static constexpr bool kOnlyAsked = false;

  Address next_hop(uint32_t dst, const Packet*) const { return {{dst}}; }
  bool fixed(const Address& address, click::EthernetAddress& to) const;
  static bool answer(const uint8_t* frame, uint32_t bytes, Answer& answer);
  void write_query(uint8_t* frame, const click::EthernetAddress& ethernet, const Address& address) const;
  static std::string text(const Address& address);
  static Address parse(const std::string& text);

  std::atomic<uint32_t> ip{0}, broadcast{0xffffffff};  // network byte order
};

/** ARPQuerier: puts Ethernet headers before IPv4 packets, and asks for the addresses that it does not know.
 *
 *      ARPQuerier(IP, ETH, [keywords TIMEOUT, POLL_TIMEOUT, CAPACITY, ENTRY_CAPACITY, ENTRY_PACKET_CAPACITY,
 *                 BROADCAST, BROADCAST_POLL, TABLE])
 *      ARPQuerier(NAME, ...)
 *
 *  IP, ETH: addresses of the interface behind; a NAME of AddressInfo may stand for both, and IP may be with its network
 *  (10.0.0.1/24). TIMEOUT: how long an address is good for, default 5 min. POLL_TIMEOUT: age at which it is asked for
 *  again while it is still used, default 1 min; 0: never. CAPACITY: packets that may wait for addresses, default 2048.
 *  ENTRY_CAPACITY: addresses that it knows at a time, default 1024; 0: as many as there may be, 1,048,576 or some
 *  fewer, in 32 MiB of memory. One that has been asked for has the place of one that nobody uses, else of the oldest.
 *  Replies that nobody has asked for are believed, but take no place of an address that has been asked for or used
 *  within TIMEOUT; those for which there is none are counted (statistic `refused`), as are those with addresses that
 *  nobody can have. ENTRY_PACKET_CAPACITY: packets that may wait for one address, default an eighth of CAPACITY, but 64
 *  at least, 0: CAPACITY; the oldest go for new ones. BROADCAST: an address whose packets go to everybody, default: the
 *  last one of IP's network, if that is given; those to 255.255.255.255 do so in any case. BROADCAST_POLL: whether
 *  everybody is asked for addresses that are known, and asked for again, default false: these are themselves. TABLE: an
 *  ARPTable that has the addresses, for several ARPQueriers; TIMEOUT and ENTRY_CAPACITY are then its own.
 *
 *  Input 0: IPv4 packets without Ethernet header, to the next hop that the annotation dst says. Input 1: ARP replies
 *  with their Ethernet header (also others: only replies are looked at). Output 0: Ethernet frames, and, without output
 *  1, ARP requests. Output 1: ARP requests. Output 2: packets, as they came, for which nobody has answered; a
 *  MarkIPHeader and an ICMPError there tell their senders (RFC 1812, 5.2.7.1). Push.
 *
 *  A packet whose next hop is not known waits; an address is asked for at most ten times a second while packets come
 *  for it, and once a second else. Without an answer for three seconds its packets leave by output 2 or, if there is
 *  none, are dropped ("unanswered"), as they are at the end of the program. Other drops: "queue_full", CAPACITY packets
 *  or 1024 addresses wait, or there are newer ones for the address; "no_address", dst is 0.0.0.0; "no_headroom",
 *  "too_long". Packets on input 1 end here: "learnt", or "not_arp_reply". Known addresses that are due to be asked for
 *  again are, once a second while packets come for them, however many others wait. Requests have the time stamp of the
 *  packet that they are for, if one has just come, and leave before it. RFC 826, RFC 1122 2.3.2.
 *
 *  Hot reconfiguration: addresses stay known, and if CAPACITY and the annotations that are read behind are as before,
 *  packets go on waiting.
 *
 *  Handlers: `table` (r): a line an address, the oldest first: address, 1 or, if it is not known any more or only asked
 *  for, 0, Ethernet address (FF-FF-FF-FF-FF-FF if there is none), age in seconds; `count` (r): addresses of that;
 *  `length` (r): packets that wait; `queries`, `responses`, `drops` (r; also what has left by output 2); `stats` (r);
 *  `insert` (w, IP ETH), `delete` (w, IP), `clear` (w); `ipaddr` (rw), the address that asks; `broadcast` (rw).
 *
 *  Example:
 *
 *      FromDevice(eth0) -> c :: Classifier(12/0806 20/0002, 12/0800); q :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1);
 *      c[1] -> Strip(14) -> CheckIPHeader -> q -> ToDevice(eth0); c[0] -> [1]q;
 */
class ARPQuerier : public NeighbourQuerier<ArpProtocol> {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  void link(const Directory& directory) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;

 private:
  std::string table_name_;
};

}  // namespace heddle
