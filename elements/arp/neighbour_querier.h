#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "click/arguments.h"
#include "core/element.h"
#include "core/packet_pool.h"
#include "elements/arp/neighbour_table.h"
#include "elements/arp/waiting_packets.h"
#include "elements/basic/rate.h"

namespace heddle {

/** What ARPQuerier and IP6NDSolicitor have in common: the table, packets that wait, and when neighbours are asked.
 *  Protocol is what differs, an object with
 *      using Address = AddressWords<...>;
 *      struct Answer { Address address; click::EthernetAddress ethernet; bool overrides; };
 *      static constexpr const char* kName;
 *      static constexpr uint16_t kEtherType;      of packets on input 0
 *      static constexpr uint32_t kLeastBytes;     that those have
 *      static constexpr uint32_t kQueryBytes;     of the frame that asks
 *      static constexpr bool kOnlyAsked;          answers count only for addresses that are known or asked for
 *      Address next_hop(uint32_t dst, const Packet*) const;                    `dst`: the annotation
 *      bool fixed(const Address&, click::EthernetAddress& to) const;           known without asking: broadcast, groups
 *      static bool answer(const uint8_t* frame, uint32_t bytes, Answer&);      false: it is none
 *      void write_query(uint8_t* frame, const click::EthernetAddress& own, const Address&) const;
 *      static std::string text(const Address&); static Address parse(const std::string&);      that throws Error */
template <class Protocol>
class NeighbourQuerier : public Emitter {
 public:
  const char* ports() const override { return "2/1-3"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  ColumnSet unread_at(int input) const override { return input == 0 ? 0 : columns(Column::dst); }
  int prepends() const override { return 14; }
  bool head_varies() const override { return true; }
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

 protected:
  using Address = typename Protocol::Address;
  enum Reason : int { kUnanswered, kQueueFull, kNoAddress, kNoHeadroom, kTooLong, kLearnt, kNotReply };

  /** TIMEOUT, POLL_TIMEOUT, CAPACITY, ENTRY_CAPACITY and ENTRY_PACKET_CAPACITY. */
  void configure_times(click::Arguments& arguments);

  Protocol protocol_;
  click::EthernetAddress ethernet_;

 private:
  using Table = NeighbourTable<Address>;
  /** An address that has been asked for, and the packets that wait for it. */
  struct Asked {
    Address address{};  // none: free
    uint32_t since_ms = 0, asked_ms = 0;
    uint32_t waiting = 0;  // packets, one at least
    WaitingPackets::List packets;
  };
  static constexpr uint32_t kAskedWays = 8, kAskedGroups = 128, kHeaderBytes = 14;
  static constexpr uint32_t kAsks = 2048, kMostAsksOfUnknown = kAskedGroups * kAskedWays;
  static constexpr uint32_t kPatienceMs = 3000, kAgainMs = 1000, kAtMostEveryMs = 100;

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
  /** Keeps or drops packet `i`, whose next hop is not known. */
  void wait_for(Batch& batch, int i, const Address& address, uint32_t now);
  /** Whether the address of a next hop is known; how old it is. */
  bool resolved(const Address& address, uint32_t now, click::EthernetAddress& to, uint32_t& age_ms) const;
  /** The same, and asks again for one that is old. */
  bool known(const Address& address, uint32_t now, click::EthernetAddress& to);
  void learn(const typename Protocol::Answer& answer, uint32_t now);
  /** Sets an entry; what waits for it goes on. With the lock. */
  void insert(const Address& address, const click::EthernetAddress& ethernet, uint32_t now);
  Asked* asked(const Address& address, uint32_t now, bool make);
  void forget(Asked& entry);
  /** Keeps packet `i` for `entry`; false if one is to be dropped, which then is packet `i`. */
  bool keep(Asked& entry, Batch& batch, int i);
  void ask(Asked& entry, uint32_t now);
  /** Asks, if there is room for one more than `most`. With the lock. */
  bool ask(const Address& address, uint32_t most);
  void write_header(Packet* packet, const click::EthernetAddress& to) const;
  void emit_queries(Batch& batch, bool ending);
  std::string table_text();

  uint32_t timeout_ms_ = 300'000, poll_ms_ = 60'000, capacity_ = 2048, of_one_ = 0;
  std::unique_ptr<Table> table_;
  PacketPool* pool_ = nullptr;

  std::atomic_flag locked_;  // for what follows
  std::unique_ptr<WaitingPackets> packets_;
  std::unique_ptr<Asked[]> asked_;         // [kAskedGroups][kAskedWays]
  WaitingPackets::List ready_, given_up_;  // go on; are dropped
  std::array<Address, kAsks> asks_{};      // addresses to ask for, the first asks_count_
  std::atomic<uint32_t> asks_count_{0}, waiting_count_{0}, ready_count_{0}, asked_count_{0};
  std::atomic<uint32_t> looked_ms_{0};  // when on_timer() has looked for those that nobody answers

  struct alignas(kCacheLine) Clock {
    BatchClock clock;
  };
  std::unique_ptr<Clock[]> clocks_;  // by thread
  std::atomic<uint64_t> queries_{0}, responses_{0}, drops_{0};
};

}  // namespace heddle
