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
 *      static constexpr uint32_t kMinBytes;       that those have
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
  using Address = typename Protocol::Address;
  /** What is known, by one querier or, of an ARPTable, by several. */
  struct Known {
    std::unique_ptr<NeighbourTable<Address>> table;
    uint32_t timeout_ms = 300'000;  // for which an address is good; 0: for ever
    std::atomic_flag changing;      // a thread changes the table
    std::vector<NeighbourQuerier*> queriers;

    /** TIMEOUT and ENTRY_CAPACITY. */
    void configure(click::Arguments& arguments);
    /** Takes what `old` has, and gives it its own. */
    void take(Known& old);
    bool good(uint32_t age_ms) const { return timeout_ms == 0 || age_ms <= timeout_ms; }
    bool set(const Address& address, const click::EthernetAddress& ethernet, uint32_t now_ms, bool wanted);
    struct Line {
      uint32_t age_ms, set_ms;  // since it was asked for or else set; since it was set, if it was
      bool known;
      Address address;
      click::EthernetAddress ethernet;
    };
    /** Of each address that is or was known or is asked for, those first that have been so longest. */
    std::vector<Line> lines() const;
    std::string text() const;
    /** `table`, `count`, `delete` and `clear`. */
    void add_handlers(Handlers& list);
  };
  /** What is written to handler `insert`. Throws Error. */
  static std::pair<Address, click::EthernetAddress> parse_entry(const std::string& text);
  static uint32_t clock_ms();  ///< the time of entries

  const char* ports() const override { return "2/1-3"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  bool leads(int input, int) const override { return input == 0; }  // answers end here
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
  enum Reason : int { kUnanswered, kQueueFull, kNoAddress, kNoHeadroom, kTooLong, kLearnt, kNotReply };

  /** TIMEOUT, POLL_TIMEOUT, CAPACITY, ENTRY_CAPACITY and ENTRY_PACKET_CAPACITY, whose default is an eighth of CAPACITY,
   *  but `least` at least. */
  void configure_times(click::Arguments& arguments, uint32_t least);

  /** Uses what an element knows that outlives it, in place of its own table. In link(). */
  void share(Known& known) {
    known_ = &known;
    known.queriers.push_back(this);
  }

  Protocol protocol_;
  click::EthernetAddress ethernet_;
  bool unicast_polls_ = false;  // those that are known are asked again by their Ethernet address alone

 private:
  /** An address that has been asked for, and the packets that wait for it. */
  struct Asked {
    Address address{};  // none: free
    uint32_t since_ms = 0, asked_ms = 0;
    uint32_t waiting = 0;  // packets, one at least
    WaitingPackets::List packets;
  };
  /** An address to ask for; `known`: again; the time stamp of the packet that asks, 0: none. */
  struct Ask {
    Address address{};
    bool known = false;
    uint64_t timestamp_ns = 0;
  };
  static constexpr uint32_t kAskedWays = 8, kAskedGroups = 128, kHeaderBytes = 14;
  static constexpr uint32_t kAsks = 2048, kMaxAsksOfUnknown = kAskedGroups * kAskedWays;
  static constexpr uint32_t kPatienceMs = 3000, kAgainMs = 1000, kAtMostEveryMs = 100;

  uint32_t now_ms(int thread) { return static_cast<uint32_t>(clocks_[static_cast<size_t>(thread)].clock.now_ms()); }
  /** Keeps or drops packet `i`, whose next hop is not known. */
  void wait_for(Batch& batch, int i, const Address& address, uint32_t now);
  /** Whether the address of a next hop is known; how old it is. */
  bool resolved(const Address& address, uint32_t now, click::EthernetAddress& to, uint32_t& age_ms);
  /** The same, and asks again for one that is old, for `packet`; `asks`: it has. */
  bool known(const Address& address, uint32_t now, const Packet* packet, click::EthernetAddress& to, bool& asks);
  /** Packet `i`, with its header, leaves when what it has asked for has left, if there is room for it to wait. */
  void let_ask_first(Batch& batch, int i);
  void learn(const typename Protocol::Answer& answer, uint32_t now);
  /** Sets an entry; what waits for it goes on. `wanted`: somebody has asked for it. False: there is no place for it.
   *  With the lock. */
  bool insert(const Address& address, const click::EthernetAddress& ethernet, uint32_t now, bool wanted);
  Asked* asked(const Address& address, uint32_t now, bool make);
  void forget(Asked& entry);
  /** What waits for `entry` goes on, to this address. */
  void release(Asked& entry, const click::EthernetAddress& ethernet);
  /** Keeps packet `i` for `entry`; false if one is to be dropped, which then is packet `i`. */
  bool keep(Asked& entry, Batch& batch, int i);
  void ask(Asked& entry, uint32_t now, uint64_t timestamp_ns);
  /** Asks, if there is room for one more than `most`. With the lock. */
  bool ask(const Ask& ask, uint32_t most);
  using Header = std::array<uint8_t, kHeaderBytes>;
  Header header_to(const click::EthernetAddress& to) const;
  static void write_header(Packet* packet, const Header& header);
  void emit_queries(Batch& batch, bool ending);
  static uint64_t timestamp_of(const Packet* packet) {
    return has_capture_info(packet) ? capture_info(packet).timestamp_ns : 0;
  }

  uint32_t poll_ms_ = 60'000, capacity_ = 2048, of_one_ = 0;
  Known own_;
  Known* known_ = &own_;  // own_, or what it shares with others
  PacketPool* pool_ = nullptr;

  mutable std::atomic_flag locked_;  // for what follows
  std::unique_ptr<WaitingPackets> packets_;
  std::unique_ptr<Asked[]> asked_;         // [kAskedGroups][kAskedWays]
  WaitingPackets::List ready_, given_up_;  // go on; are dropped
  std::array<Ask, kAsks> asks_{};          // the first asks_count_
  std::atomic<uint32_t> asks_count_{0}, waiting_count_{0}, ready_count_{0}, asked_count_{0};
  std::atomic<uint32_t> looked_ms_{0};  // when on_timer() has looked for those that nobody answers

  struct alignas(kCacheLine) Clock {
    BatchClock clock;
  };
  std::unique_ptr<Clock[]> clocks_;  // by thread
  std::atomic<uint64_t> queries_{0}, responses_{0}, refused_{0}, drops_{0};
};

}  // namespace heddle
