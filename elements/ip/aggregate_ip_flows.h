#pragma once

#include <atomic>
#include <memory>

#include "core/element.h"
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
 *                       CAPACITY])
 *
 *  Packets have an IPv4 header at annotation l3. A flow is all that two ends, address and port, send each other by TCP
 *  or UDP. The aggregate annotation becomes its number, from 1 on in the order of the flows' first packets, and paint
 *  the direction: 0 as the first packet, 1 the other way. Others leave by output 1 or, if that is not connected, are
 *  dropped ("no_flow").
 *
 *  A flow has ended, and what comes then has another number, when its last packet is older than TCP_TIMEOUT (default 24
 *  h), TCP_DONE_TIMEOUT if both ends have sent FIN (30 s), or UDP_TIMEOUT (1 min); by the packets' time stamps, if they
 *  have such. FRAGMENTS: whether later fragments are of the flow of the first one, if that has come before, less than
 *  FRAGMENT_TIMEOUT (30 s) ago; default true. (Click keeps early ones until the first has come.) ICMP: whether ICMP
 *  errors are of the flow of the packet in them, if it is known, with its direction reversed; default false. CAPACITY:
 *  flows and fragments that it knows at a time, default 262,144, 64 bytes each; where there is no room, of eight the
 *  one that has been silent longest is forgotten (statistic `forgotten`). REAP: how often, by packets' time stamps, it
 *  looks for flows that have ended, to tell elements with NOTIFIER (AggregateFirst, AggregateLast), default 20 min; it
 *  tells others when it comes across them. Click's TRACEINFO is not supported.
 *
 *  Threads that come here at once wait for each other.
 *
 *  Handlers: `clear` (w): forget all flows. `count` (r): numbers given so far.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AggregateIPFlows
 *        -> ToIPSummaryDump(flows.txt, FIELDS timestamp aggregate direction ip_len);
 */
class AggregateIPFlows : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  /** Before the start. */
  void add_listener(FlowListener* listener) { listeners_.push_back(listener); }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
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
  static constexpr size_t kWays = 8;

  /** What a packet is of; `reversed`: from the higher end. */
  static Key key_of(uint32_t source, uint32_t destination, const uint8_t* ports, uint8_t protocol, bool& reversed);
  static Key fragments_of(const Ip4Header& ip);
  Entry* bucket(const Key& key) const;
  bool live(const Entry& entry, uint64_t now_ns) const;
  Entry* find(const Key& key, uint64_t now_ns) const;
  bool of_flow(const Entry& entry) const;
  /** The entry's number, if it is that of a flow, is given to no packet any more. */
  void tell_end(const Entry& entry);
  /** Frees the entries of flows that have ended; all: of the others, too. */
  void reap(uint64_t now_ns, bool all);
  /** A place for `key`, without a number. */
  Entry& make(const Key& key, uint64_t now_ns);
  struct Found {
    uint32_t number, direction;
  };
  /** Number 0: none. */
  Found flow_of(const Ip4Header& ip, uint64_t now_ns);
  Found flow_of_fragment(const Ip4Header& ip, uint64_t now_ns) const;
  Found flow_of_error(const Ip4Header& ip, uint64_t now_ns) const;

  uint64_t tcp_ns_ = 86'400'000'000'000, tcp_done_ns_ = 30'000'000'000, udp_ns_ = 60'000'000'000,
           fragment_ns_ = 30'000'000'000, reap_ns_ = 1'200'000'000'000;
  bool fragments_ = true, icmp_ = false;
  uint32_t capacity_ = 1 << 18;
  size_t mask_ = 0;                   // of buckets
  std::unique_ptr<Entry[]> entries_;  // [(mask_ + 1) * kWays]
  std::vector<FlowListener*> listeners_;
  uint64_t reaped_ns_ = 0;  // when it was done last, or 0
  std::atomic_flag busy_;   // a thread is at what follows, or at entries
  std::atomic<uint32_t> numbers_{0};
  std::atomic<uint64_t> forgotten_{0}, generation_{1};  // entries of another generation are free
};

}  // namespace heddle
