#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "core/column_pack.h"
#include "core/element.h"
#include "elements/ip/flow_trace.h"
#include "elements/ip/header.h"

namespace heddle {

/** Is told of flows that have ended. */
class FlowListener {
 public:
  virtual ~FlowListener() = default;
  /** No packet that comes to AggregateIPFlows from now on gets this number; some that have it may still be under way.
   *  From any thread, one at a time; must not wait. */
  virtual void flow_ended(uint32_t number) = 0;
};

/** AggregateIPFlows: numbers the flows that packets belong to.
 *
 *      AggregateIPFlows([keywords TCP_TIMEOUT, TCP_DONE_TIMEOUT, UDP_TIMEOUT, FRAGMENT_TIMEOUT, REAP, FRAGMENTS, ICMP,
 *                       TRACEINFO, CAPACITY])
 *
 *  Packets have an IPv4 header at annotation l3. A flow is all that two ends, address and port, send each other by TCP
 *  or UDP. The aggregate annotation becomes its number, from 1 on in the order of the flows' first packets, and paint
 *  the direction: 0 as the first packet, 1 the other way. Others leave by output 1 or, if that is not connected, are
 *  dropped ("no_flow").
 *
 *  A flow has ended, and what comes then has another number, when its last packet is older than TCP_TIMEOUT (default 24
 *  h), TCP_DONE_TIMEOUT if both ends have sent FIN (30 s), or UDP_TIMEOUT (1 min); by the packets' time stamps, if they
 *  have such. FRAGMENTS: whether later fragments are of the flow of the first one, which has the ports; default true.
 *  If that has not come in the FRAGMENT_TIMEOUT (30 s) before, they wait for it, as long as that again, and without it
 *  leave as others do; where packets are pulled, they do not wait. Behind them wait all packets between the same two
 *  addresses that come by the same protocol on the same thread, so that they keep their order; packets of others may
 *  overtake them. At most 1,024 wait on each thread, and an eighth of the packet memory on all: further fragments do
 *  not wait then, and other packets may overtake those that do (statistic `unheld` counts both). ICMP: whether ICMP
 *  errors are of the flow of the packet in them, if it is known, with its direction reversed; default false. CAPACITY:
 *  flows and fragments that it knows at a time, default 262,144, 64 bytes each; where there is no room, of eight the
 *  one that has been silent longest is forgotten (statistic `forgotten`). REAP: how often, by packets' time stamps, it
 *  looks for flows that have ended, to tell elements with NOTIFIER (AggregateFirst, AggregateLast), default 20 min; it
 *  tells others when it comes across them. TRACEINFO: a file, "-" for standard output, that gets a description of each
 *  flow when it has ended, in XML: number, addresses and ports of source and destination, the time of its first packet
 *  and how long it has lasted, and how many packets (ICMP errors apart) went in either direction; Click's SOURCE, whose
 *  name and places would be there, too, is not supported.
 *
 *  Threads that come here at once wait for each other.
 *
 *  Hot reconfiguration: flows stay, if CAPACITY is the same, and packets that wait, if they have the annotations that
 *  are read behind.
 *
 *  Handlers: `clear` (w): forget all flows; packets that wait leave. `count` (r): numbers given so far.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AggregateIPFlows
 *        -> ToIPSummaryDump(flows.txt, FIELDS timestamp aggregate direction ip_len);
 */
class AggregateIPFlows : public Emitter {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  bool changes_length() const override { return false; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  /** Before the start. */
  void add_listener(FlowListener* listener) { listeners_.push_back(listener); }
  void run_cpu(Batch& batch) override;
  void emit(Batch& batch, bool ending) override;
  bool holds() const override { return packets_held() > 0; }
  bool due(int thread) const override;
  uint64_t packets_held() const override { return held_.load(std::memory_order_relaxed); }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** A flow, the lower end first, or the fragments of a packet: ports are its identification then. As they lie in
   *  packets. */
  struct Key {
    uint32_t addresses[2];
    uint16_t ports[2];
    uint8_t protocol;
    bool fragments;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key{};
    uint32_t number = 0;  // 0: free
    uint64_t last_ns = 0, generation = 0;
    bool reversed = false;  // the first packet came from the higher end
    uint8_t fins = 0;       // of the lower end 1, of the higher 2
  };
  struct Found {
    uint32_t number, direction;
    bool error = false;  // an ICMP error about the flow
  };
  /** What a packet is of; `reversed`: from the higher end. */
  static Key key_of(uint32_t source, uint32_t destination, const uint8_t* ports, uint8_t protocol, bool& reversed);
  /** The entry of a flow, which is a new one if there is none; whose packet has come now. */
  Entry& entry_of(const Key& key, bool reversed, uint64_t now_ns);
  /** Number 0: none. */
  virtual Found flow_of(const Ip4Header& ip, uint64_t now_ns);
  /** Reads the keyword, and the further ones that all have. */
  static void configure_duration(click::Arguments& arguments, const char* keyword, uint64_t& ns);
  void configure_others(click::Arguments& arguments);

  uint64_t tcp_ns_ = 86'400'000'000'000;  // also of all but UDP
  bool fragments_ = true;

 private:
  static constexpr size_t kWays = 8;
  /** A packet that waits. */
  struct Held {
    Packet* packet = nullptr;
    Key fragments{};                        // what it is a fragment of, while that has no number yet
    uint64_t since_ns = 0, generation = 0;  // when it came
    Found found{0, 0, false};
    bool decided = false;  // its flow is known: it waits for its turn
    bool stamped = false;  // since_ns is its time stamp
    uint16_t pair = 0;
  };
  static constexpr uint32_t kMaxHeld = 1024, kPairs = 4096;
  /** What waits of the packets that one thread brings. */
  struct alignas(kCacheLine) Waiting {
    std::vector<Held> packets;               // [most_held_], in places
    std::vector<std::byte> columns;          // [most_held_][bytes of pack_]
    std::vector<uint16_t> order, free;       // places
    std::array<uint16_t, kPairs> of_pair{};  // how many, by a hash of addresses and protocol
    uint64_t latest_ns = 0;                  // of the time stamps seen
    uint64_t next_ns = 0;                    // the earliest time at which one gives up; 0: none waits for a flow
    bool next_stamped = false;               // of a packet with a time stamp
    uint64_t looked_at = 0;                  // firsts_ + generation_ when it was last looked whose turn it is
  };
  static uint16_t pair_of(const Ip4Header& ip);
  /** Has packet i of the batch wait; false if there is no room. */
  bool hold(Waiting& waiting, Batch& batch, int i, const Held& held);
  /** Sets the annotations of packet i, and where it goes if it has no flow. */
  void give(Batch& batch, int i, const Found& found, uint64_t now_ns);
  /** Whether the time until which a packet waits has come. */
  static bool has_come(const Waiting& waiting, uint64_t ns, bool stamped);
  uint64_t changes() const {
    return firsts_.load(std::memory_order_relaxed) + generation_.load(std::memory_order_relaxed);
  }

  static Key fragments_of(const Ip4Header& ip);
  Entry* bucket(const Key& key) const;
  bool live(const Entry& entry, uint64_t now_ns) const;
  Entry* find(const Key& key, uint64_t now_ns) const;
  bool of_flow(const Entry& entry) const;
  /** Whether somebody wants to know of flows that have ended. */
  bool tells_ends() const { return !listeners_.empty() || trace_ != nullptr; }
  /** The entry's number, if it is that of a flow, is given to no packet any more. */
  void tell_end(const Entry& entry);
  /** Frees the entries of flows that have ended; all: of the others, too. */
  void reap(uint64_t now_ns, bool all);
  /** A place for `key`, without a number. */
  Entry& make(const Key& key, uint64_t now_ns);
  Found flow_of_fragment(const Ip4Header& ip, uint64_t now_ns) const;
  Found flow_of_error(const Ip4Header& ip, uint64_t now_ns) const;

  uint64_t tcp_done_ns_ = 30'000'000'000, udp_ns_ = 60'000'000'000, fragment_ns_ = 30'000'000'000,
           reap_ns_ = 1'200'000'000'000;
  bool icmp_ = false;
  bool waits_ = false;  // fragments wait: not where they are pulled
  ColumnPack pack_;
  uint32_t most_held_ = 0;        // on a thread
  std::vector<Waiting> waiting_;  // [threads]
  std::atomic<uint64_t> held_{0}, unheld_{0};
  std::atomic<uint64_t> firsts_{0};  // first fragments of packets in several
  uint32_t capacity_ = 1 << 18;
  size_t mask_ = 0;                   // of buckets
  std::unique_ptr<Entry[]> entries_;  // [(mask_ + 1) * kWays]
  std::vector<FlowListener*> listeners_;
  std::string trace_file_;
  std::unique_ptr<FlowTrace> trace_;
  std::function<bool()> stopping_;  // Environment::stopping
  uint64_t reaped_ns_ = 0;          // when it was done last, or 0
  std::atomic_flag busy_;           // a thread is at what follows, or at entries
  std::atomic<uint32_t> numbers_{0};
  std::atomic<uint64_t> forgotten_{0}, generation_{1};  // entries of another generation are free
};

/** AggregateIPAddrPair: numbers the pairs of addresses that packets go between.
 *
 *      AggregateIPAddrPair([keywords TIMEOUT, REAP, CAPACITY])
 *
 *  Packets have an IPv4 header at annotation l3. The aggregate annotation becomes the number of the pair of addresses,
 *  from 1 on in the order of the pairs' first packets, and paint the direction: 0 as the first packet, 1 the other way.
 *  Packets without such a header leave by output 1 or, if that is not connected, are dropped ("no_flow").
 *
 *  TIMEOUT: a pair whose last packet is older has ended, and what comes then has another number; by the packets' time
 *  stamps, if they have such; 0 (default): never. REAP: how often, by packets' time stamps, it looks for pairs that
 *  have ended, to tell elements with NOTIFIER (AggregateFirst, AggregateLast), default 20 min. CAPACITY: pairs that it
 *  knows at a time, as of AggregateIPFlows. Threads that come here at once wait for each other.
 *
 *  Hot reconfiguration: pairs stay, if CAPACITY is the same.
 *
 *  Handlers: `clear` (w): forget all pairs. `count` (r): numbers given so far.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AggregateIPAddrPair
 *        -> ToIPSummaryDump(pairs.txt, FIELDS timestamp aggregate direction ip_len);
 */
class AggregateIPAddrPair : public AggregateIPFlows {
 public:
  void configure(click::Arguments& arguments) override;

 protected:
  Found flow_of(const Ip4Header& ip, uint64_t now_ns) override;
};

}  // namespace heddle
