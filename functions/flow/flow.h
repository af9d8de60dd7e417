#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include "core/checks_setter.h"
#include "core/element.h"
#include "core/gpu_state.h"
#include "functions/flow/bucket.h"
#include "functions/flow/place_counts.h"
#include "functions/flow/servers.h"
#include "functions/flow/table.h"

namespace heddle {

/** FlowTable: finds the flow of each packet, or begins one, for the stateful elements behind it.
 *
 *      FlowTable([keywords CAPACITY, TIMEOUT, TCP_TIMEOUT, TCP_NODATA_TIMEOUT, TIMESTAMPS])
 *
 *  A flow is what has the same addresses, ports and protocol, in one direction. CAPACITY: flows that there is room for
 *  at least, over all threads, default 65536, up to 16777216; each takes 68 to 170 bytes. TIMEOUT: a flow is over when
 *  no packet has come for this long, from 1ms to 30min. TCP_TIMEOUT: the same of TCP connections that are established,
 *  TCP_NODATA_TIMEOUT of other TCP, both up to 8h, default TIMEOUT. Without TIMEOUT it is 60s for all; but if a NAT
 *  names the table, 2h4min of established TCP, 4min of other TCP (RFC 5382, REQ-5), and 5min of all else (RFC 4787,
 *  REQ-5). TIMESTAMPS: whether the time is that of the packets' capture, default false: the machine's.
 *
 *  Needs the annotations l3 and l4: put CheckIPHeader before it, or, of IPv6, CheckIP6Header. IPv6 packets are of the
 *  flow that the header behind their extension headers says; for their addresses a keyed hash of 64 bits (SipHash-2-4)
 *  stands in the table. Sets the annotations flow and flow_ms, the flow and the time. Elements that name the table have
 *  up to four words of 64 bits in each flow: FlowCounter, LoadBalancer, RateLimiter, NAT. Each packet thread has flows
 *  of its own, so all packets of a flow must come to one thread, as with the usual receive-side scaling; nothing is
 *  locked. It is an error if packets come to an element from another FlowTable than the one that it names.
 *
 *  A flow goes on from its second packet on, of TCP from one that has ACK and no SYN. It is established if it goes on
 *  and packets have come the other way, through the same thread's table or, of a NAT, back to its port; of TCP, not
 *  behind a FIN, nor behind a RST until an ACK comes: anyone may have sent that. A SYN behind either begins another
 *  connection, which has to be answered anew.
 *
 *  Memory is taken at the start and does not grow. If the table has no place for a new flow, it takes that of one that
 *  is over; else of one that does not go on or has seen FIN or RST, the longest idle first: a flood of SYNs costs only
 *  its like, however often each is sent. Else it takes that of one that goes on without an answer, the longest idle
 *  first. Established flows stay. What packets of a batch have found stays theirs while the chain works on the batch: a
 *  flow that ends in it, as times of captures may say, makes room for others when the next one comes.
 *
 *  Later fragments and packets of other protocols than TCP, UDP, DCCP, SCTP and UDP-Lite have ports 0. Drops: "short"
 *  (no whole IP header, or fewer than 4 bytes behind it where ports should be), "full" (no place for a new flow), "ip6"
 *  (an IPv6 packet, where a LoadBalancer or NAT, which are for IPv4, names the table).
 *
 *  Handlers: `flows` (r): flows now; `capacity` (r): places. Statistics: `flows`, `added`, `expired`, `evicted`.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> flows :: FlowTable -> c :: FlowCounter(flows) -> ToDump(out.pcap);
 */
class FlowTable : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return 10000; }
  void on_timer(int thread) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  /** One of the flows' words, for an element of the chain, which may be one for IPv4 alone, and may ask to hear of
   *  flows that end. Throws Error when all are taken. Before start(). */
  int take_word(const Element& taker, bool takes_ip6, flow::Watcher* watcher = nullptr,
                bool outlives_arguments = false);
  /** Whether the flows go over between this and `other`, one of which replaces the other: the same room, and all that
   *  have words of them have predecessors, with the same arguments unless their words outlive these. */
  bool shares_flows_with(const FlowTable& other) const;
  /** How column flow names flows of so many threads. */
  flow::Places places(int threads) const;
  /** ChecksSetter::wrong_setter() of an element that has named this table by the argument. */
  std::string wrong_setter(Column column, const Element& setter, const char* argument) const;
  /** That of a flow of the thread's, by its column. */
  flow::Entry& entry(uint32_t flow, int thread) { return tables_[static_cast<size_t>(thread)]->entry(flow); }
  /** That of a place, over all threads. */
  flow::Entry& entry(uint32_t place) { return entry(place, static_cast<int>(place / tables_[0]->places())); }
  /** Flows last, where no argument says how long, as those of a NAT should. Before start(). */
  void serve_nat() { for_nat_ = true; }
  /** The flows of a thread; and the place there of one, by its column. */
  flow::ThreadTable& table_of(int thread) { return *tables_[static_cast<size_t>(thread)]; }
  uint32_t place_of(uint32_t flow, int thread) { return flow & (table_of(thread).places() - 1); }
  /** The place of the flow with this key, over all threads, or kNoFlow. For handlers. */
  uint32_t find(const flow::Key& key) const;

 private:
  /** Milliseconds of the flows' clock, which goes round, when the packet came. */
  uint32_t time_of(const Packet* packet, uint32_t now_ms) const {
    if (!timestamps_ || !has_capture_info(packet)) return now_ms;
    return static_cast<uint32_t>(capture_info(packet).timestamp_ns / 1000000);
  }
  static uint32_t now_ms();
  flow::Timeouts timeouts() const;
  /** Flows that each thread has room for. */
  size_t capacity_of_each(size_t threads) const { return (capacity_ + threads - 1) / threads; }
  uint64_t sum(std::atomic<uint64_t> flow::ThreadTable::Counts::*which) const;

  size_t capacity_ = 65536;
  uint32_t timeout_ms_ = 0, tcp_timeout_ms_ = 0, tcp_transitory_timeout_ms_ = 0;  // 0: not said
  bool timestamps_ = false, takes_ip6_ = true, for_nat_ = false;
  flow::Places places_;
  std::vector<const Element*> takers_;
  std::vector<bool> outlives_arguments_;  // by taker
  std::vector<flow::Watcher*> watchers_;
  std::vector<std::unique_ptr<flow::ThreadTable>> tables_;  // by thread
  struct alignas(kCacheLine) Clock {
    uint32_t now_ms = 0;
  };
  std::vector<Clock> clocks_;  // the latest time that a packet came, by thread
};

/** What the elements on a FlowTable have in common. */
class FlowElement : public Element, public ChecksSetter {
 public:
  void configure(click::Arguments& arguments) override { read_table(arguments); }
  void link(const Directory& directory) override;
  std::string wrong_setter(Column column, const Element& setter) const override;

 protected:
  void read_table(click::Arguments& arguments);
  /** The flow of packet `i`. */
  flow::Entry& flow_of(const uint32_t* flows, int i, int thread) { return table_->entry(flows[i], thread); }
  virtual flow::Watcher* watcher() { return nullptr; }
  /** Whether it knows IPv6 packets. */
  virtual bool takes_ip6() const { return false; }
  /** Whether its words mean the same whatever its arguments are, so that flows go over to an heir with others. */
  virtual bool word_outlives_arguments() const { return false; }
  /** Whether it has a GPU side, which names flows by the column alone. */
  virtual bool has_gpu_side() const { return false; }
  /** Not if flows are wanted on the CPU behind it: they may have ended until their packets are back. */
  bool follows_device() const override { return has_gpu_side() && cpu_side_behind(false) == nullptr; }
  /** In start(): throws Error if it is on a GPU and flows are wanted on the CPU behind it. */
  void check_place() const;
  /** In take_state(): whether the flows, with what their words say, go over from `old` or back. */
  bool shares_flows_with(const FlowElement& old) const {
    return table_ != nullptr && old.table_ != nullptr && table_->shares_flows_with(*old.table_);
  }

  std::string table_name_;
  FlowTable* table_ = nullptr;
  int word_ = 0;

 private:
  /** An element that packets may come to and that has no GPU side, or, when they have been placed, is on no GPU; or
   *  null. */
  const FlowElement* cpu_side_behind(bool placed) const;
};

/** FlowCounter: counts the packets and bytes of each flow.
 *
 *      FlowCounter(TABLE [, keywords DEVICE, BLOCKING])
 *
 *  TABLE: the name of the FlowTable before it. Counts stop at 268,435,455 packets and 68,719,476,735 bytes of a flow.
 *  DEVICE: cpu or gpu; default: what --device says, but cpu if NAT stands behind it. BLOCKING: on a GPU with all slots
 *  in flight, wait (true, default) or drop ("no_slot").
 *
 *  A GPU counts in its own memory, 16 bytes for each place of the table; FlowTable remains on the CPU. What is in
 *  flight when its flow ends counts for no other flow. Of those that had a place of the default table the last 32,768
 *  are told apart, with the largest table the last 128: if so many have had one without a packet that came here, the
 *  next may be taken for one of them. What has its flows on the CPU (NAT, others with DEVICE cpu) must
 *  stand before a FlowCounter on a GPU: behind it its packets' flows might have ended meanwhile. If a GPU fails, what
 *  it has counted is lost.
 *
 *  Handlers: `lookup SRC DST SPORT DPORT PROTO` (r): "PACKETS BYTES" of a flow, "0 0" if there is none; packets in
 *  flight are not counted yet.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> flows :: FlowTable -> c :: FlowCounter(flows) -> ToDump(out.pcap);
 */
class FlowCounter : public FlowElement, public KeepsGpuState {
 public:
  FlowCounter() { table = &places_; }
  Access access(Processor) const override { return {.column_reads = columns(Column::flow)}; }
  size_t gpu_states() const override { return places_.value.count; }
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  struct Counts {
    uint64_t packets = 0, bytes = 0;
  };
  static Counts counts_of(uint64_t word);
  /** Of the flow in `entry`: what CPU and GPU have counted, up to where counts stop. */
  Counts sum(const flow::Entry& entry, const flow::PlaceCounts& on_gpu) const;
  Counts counts_at(uint32_t place) const;
  /** Of the flow with this key; 0 if there is none. */
  Counts counts_of(const flow::Key& key) const;
  /** Puts what the GPU, which is going, has counted into the flows' words. */
  void bring_home(FlowTable& table);
  bool takes_ip6() const override { return true; }
  bool has_gpu_side() const override { return true; }

  FixedTable<flow::Places> places_;
};

/** RateLimiter: drops what a flow sends beyond a rate.
 *
 *      RateLimiter(TABLE, RATE [, keywords BURST, DEVICE, BLOCKING])
 *
 *  TABLE: the name of the FlowTable before it. RATE: packets a second for each flow, 1 to 1000000. BURST: packets that
 *  a flow may send at once after a pause, default 32, up to 65535: a token bucket, which is full when a flow begins.
 *  Times are those of the FlowTable, in milliseconds. A packet with an earlier time than one before it, by up to an
 *  hour, is taken as if it had that one's. DEVICE: cpu or gpu; default: what --device says, but cpu if NAT stands
 *  behind it. BLOCKING: on a GPU with all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  A GPU keeps the flows' buckets in its own memory, 8 bytes for each place of the table; FlowTable remains on the CPU.
 *  It goes by the same rule and the same times, and takes those of a flow's packets in order that come to it together,
 *  up to 32. Others that are there at the same time may overtake each other: which of them pass, and, if their times
 *  differ, how many, may be others than on the CPU, but never more than rate and burst allow. Of the flows that had a
 *  place of the table the last 4,096 are told apart, with the largest table the last 128; packets in flight pass when
 *  their flow has ended and the next one has sent some. For what stands behind it the same holds as for FlowCounter.
 *  Neither side knows what the other has let through, so DEVICE auto (and --device auto without DEVICE here) is an
 *  error: with each change of sides a flow could send another burst. If a GPU fails, or another configuration takes
 *  over, what it has kept is lost: buckets are full.
 *
 *  Output 0: packets within the rate. Output 1, if connected: the others; if not, they are dropped ("rate").
 *
 *  Handlers: `rate` (rw): RATE, from now on; flows and what they have left of their bursts stay. So they do, on the
 *  CPU, with a new configuration that has another RATE or BURST here.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> flows :: FlowTable -> RateLimiter(flows, 1000) -> ToDump(out.pcap);
 */
class RateLimiter : public FlowElement, public KeepsGpuState {
 public:
  RateLimiter() { table = &limits_; }
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override { return {.column_reads = columns(Column::flow, Column::flow_ms)}; }
  std::span<const char* const> drop_reasons() const override;
  size_t gpu_states() const override { return limits_.value.places.count; }
  std::string hidden_from_cpu() const override { return "the tokens of flows"; }
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  bool takes_ip6() const override { return true; }
  bool has_gpu_side() const override { return true; }
  bool word_outlives_arguments() const override { return true; }

  /** Packet threads, and copies on GPUs, go over to another rate at any time. */
  struct LimitTable : FixedTable<flow::Limits> {
    uint32_t rate() { return std::atomic_ref(value.rate).load(std::memory_order_relaxed); }
    void set_rate(uint32_t rate) {
      std::atomic_ref(value.rate).store(rate, std::memory_order_relaxed);
      changed(offsetof(flow::Limits, rate), std::as_bytes(std::span(&rate, 1)));
    }
  };
  LimitTable limits_;
};

/** LoadBalancer: sends each flow to one of several servers.
 *
 *      LoadBalancer(TABLE, SERVER1, SERVER2, ... [, keywords DEVICE, BLOCKING])
 *
 *  TABLE: the name of the FlowTable before it. Each SERVER is an IPv4 address; up to 65535. Which of them a new flow
 *  gets follows from a hash of its addresses, protocol and ports, as its packets have them here, and so is the same on
 *  a CPU and on a GPU. It keeps the server to its end, whatever the handler `servers` says meanwhile. The destination
 *  address of packets, and the annotation dst, become the server's; checksums of IPv4, TCP and UDP are changed
 *  accordingly (RFC 1624). Needs the annotations l3 and l4. DEVICE: cpu or gpu; default: what --device says, but cpu if
 *  NAT stands behind it. BLOCKING: on a GPU with all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  A GPU keeps the flows' servers in its own memory, 8 bytes for each place of the table; FlowTable remains on the CPU.
 *  For what stands behind it the same holds as for FlowCounter. Neither side knows what the other has chosen, so DEVICE
 *  auto (and --device auto without DEVICE here) is an error: behind a change of the servers a flow would get another
 *  one with each change of sides. If a GPU fails, or another configuration takes over, what it has kept is lost: flows
 *  that go on get servers as new ones do, which are the same unless they have been changed.
 *
 *  Of fragments of TCP, UDP, DCCP, SCTP and UDP-Lite only the first has the ports; a later one may be of any flow
 *  between its addresses, so it is dropped ("fragment"). Put IPReassembler before the FlowTable, as Linux's IPVS puts
 *  datagrams together before it looks at them: then they go on whole, each to the server of its flow. Of other
 *  protocols all fragments of a datagram get one server, as they are.
 *
 *  Where servers answer clients directly, so that the way back does not lead through the FlowTable, flows are never
 *  established: TCP_NODATA_TIMEOUT is theirs, and where the table is full those that go on give way to new ones, too,
 *  the longest idle first. So give it CAPACITY for all flows at once.
 *
 *  Handlers: `servers` (rw): the servers that new flows get, separated by spaces.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> flows :: FlowTable
 *          -> LoadBalancer(flows, 10.0.0.1, 10.0.0.2) -> ToDump(out.pcap);
 */
class LoadBalancer : public FlowElement, public KeepsGpuState {
 public:
  LoadBalancer() { table = &servers_, retiring.push_back(&servers_); }
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  size_t gpu_states() const override { return servers_.image().places.count; }
  std::string hidden_from_cpu() const override { return "the servers of flows"; }
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  bool has_gpu_side() const override { return true; }

  flow::ServerTable servers_;
};

}  // namespace heddle
