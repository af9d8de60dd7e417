#pragma once

#include <array>
#include <memory>
#include <utility>

#include "core/element.h"
#include "elements/arp/arp_table.h"
#include "elements/arp/waiting_packets.h"
#include "elements/basic/rate.h"
#include "elements/ethernet/atomic_address.h"

namespace heddle {

/** ARPQuerier: puts Ethernet headers before IPv4 packets, and asks for the addresses that it does not know.
 *
 *      ARPQuerier(IP, ETH, [keywords TIMEOUT, POLL_TIMEOUT, CAPACITY, ENTRY_CAPACITY, BROADCAST])
 *      ARPQuerier(NAME, ...)
 *
 *  IP, ETH: addresses of the interface behind; a NAME of AddressInfo may stand for both. TIMEOUT: how long an address is good
 *  for, default 5 min. POLL_TIMEOUT: age at which it is asked for again while it is still used, default 1 min; 0: never.
 *  CAPACITY: packets that may wait for addresses, default 2048. ENTRY_CAPACITY: addresses that it knows at a time, default
 *  1024; the oldest go for new ones. BROADCAST: an address whose packets go to everybody, default 255.255.255.255, which does so
 *  in any case.
 *
 *  Input 0: IPv4 packets without Ethernet header, to the next hop that the annotation dst says. Input 1: ARP replies with their
 *  Ethernet header (also others: only replies are looked at). Output 0: Ethernet frames, and, without output 1, ARP requests.
 *  Output 1: ARP requests. Push.
 *
 *  A packet whose next hop is not known waits; an address is asked for at most ten times a second while packets come for it,
 *  and once a second else. Without an answer for three seconds its packets are dropped ("unanswered"). Other drops:
 *  "queue_full", CAPACITY packets or 1024 addresses wait; "no_address", dst is 0.0.0.0; "no_headroom", "too_long". Packets on
 *  input 1 end here: "learnt", or "not_arp_reply". RFC 826, RFC 1122 2.3.2.
 *
 *  Hot reconfiguration: addresses stay known, and if CAPACITY and the annotations that are read behind are as before, packets go on
 *  waiting.
 *
 *  Handlers: `table` (r): address, 1, Ethernet address, age in seconds; `count` (r): addresses; `length` (r): packets that wait;
 *  `queries`, `responses`, `drops` (r); `stats` (r); `insert` (w, IP ETH), `delete` (w, IP), `clear` (w); `ipaddr` (r).
 *
 *  Example:
 *
 *      FromDevice(eth0) -> c :: Classifier(12/0806 20/0002, 12/0800); q :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1);
 *      c[1] -> Strip(14) -> CheckIPHeader -> q -> ToDevice(eth0); c[0] -> [1]q;
 */
class ARPQuerier : public Emitter {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "2/1-2"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  ColumnSet unread_at(int input) const override { return input == 0 ? 0 : columns(Column::dst); }
  Access access(Processor) const override;
  int prepends() const override { return 14; }
  bool head_varies() const override { return true; }
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void on_timer(int thread) override;
  void emit(Batch& batch, bool ending) override;
  bool holds() const override { return asks_count_ > 0 || waiting_count_ > 0 || ready_count_ > 0; }
  bool due(int) const override {
    return ready_count_.load(std::memory_order_relaxed) > 0 || asks_count_.load(std::memory_order_relaxed) > 0;
  }
  void take_state(Element& old) override;
  uint64_t packets_held() const override { return packets_ ? packets_->size() : 0; }
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  /** An address that has been asked for, and the packets that wait for it. */
  struct Asked {
    uint32_t ip = 0;  // network byte order; 0: free
    uint32_t since_ms = 0, asked_ms = 0;
    WaitingPackets::List packets;
  };
  static constexpr uint32_t kAskedWays = 8, kAskedGroups = 128, kAsks = 1024;

  /** A lock that is held for a few loads and stores, where an address is not known. */
  class Lock {
   public:
    explicit Lock(std::atomic_flag& flag) : flag_(flag) {
      while (flag_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
    }
    ~Lock() { flag_.clear(std::memory_order_release); }

   private:
    std::atomic_flag& flag_;
  };

  uint32_t now_ms(int thread) { return static_cast<uint32_t>(clocks_[static_cast<size_t>(thread)].clock.now_ms()); }
  /** Puts the header before packet `i`, or keeps or drops it. */
  void send(Batch& batch, int i, uint32_t ip, const click::EthernetAddress& to);
  void wait_for(Batch& batch, int i, uint32_t ip, uint32_t now);
  /** Whether the address of a next hop is known; how old it is. */
  bool resolved(uint32_t ip, uint32_t now, click::EthernetAddress& to, uint32_t& age_ms) const;
  /** The same, and asks again for one that is old. */
  bool known(uint32_t ip, uint32_t now, click::EthernetAddress& to);
  void learn(const uint8_t* frame, uint32_t now);
  void insert(uint32_t ip, const click::EthernetAddress& ethernet, uint32_t now);
  void poll(uint32_t ip, uint32_t now);
  Asked* asked(uint32_t ip, uint32_t now, bool make);
  void forget(Asked& entry);
  void ask(Asked& entry, uint32_t now);
  void write_header(Packet* packet, const click::EthernetAddress& to) const;
  void emit_queries(Batch& batch, bool ending);
  std::string table_text();
  std::string stats_text() const;

  uint32_t ip_ = 0, broadcast_ = 0xffffffff;  // network byte order
  click::EthernetAddress ethernet_;
  uint32_t timeout_ms_ = 300'000, poll_ms_ = 60'000, capacity_ = 2048;
  std::unique_ptr<ArpTable> table_;
  PacketPool* pool_ = nullptr;

  std::atomic_flag locked_;  // for what follows
  std::unique_ptr<WaitingPackets> packets_;
  std::unique_ptr<Asked[]> asked_;         // [kAskedGroups][kAskedWays]
  WaitingPackets::List ready_, given_up_;  // go on; are dropped
  std::array<uint32_t, kAsks> asks_{};     // addresses to ask for, the first asks_count_
  std::atomic<uint32_t> asks_count_{0}, waiting_count_{0}, ready_count_{0}, asked_count_{0};
  std::atomic<uint32_t> looked_ms_{0};  // when on_timer() has looked for those that nobody answers

  struct alignas(kCacheLine) Clock {
    BatchClock clock;
  };
  std::unique_ptr<Clock[]> clocks_;  // by thread
  std::atomic<uint64_t> queries_{0}, responses_{0}, drops_{0};
};

}  // namespace heddle
