// gpu-drive: what a thread spends to drive the GPU, by launch mode and transport. It is the time within the calls of a
// lane (feed, flush, poll) in which something moved: packets were taken, a kernel was launched, packets came back; by
// the packets that came back. It has all that the CPU does for the GPU: slots, launches, packing, lists, what becomes
// of results. It has not what packets cost without a GPU as well, and not the calls that found nothing, which a thread
// makes between other things. EtherMirror, 64 bytes; batches of 1,024 packets for launches, and of 64, as ports give
// them, for resident kernels. sync waits for its kernels within flush(), so its time is the GPU's as well.
//
// gpu-wake: how long a packet is on its way through a segment that has had none for 100 ms, at a thread that polls.

#include <rte_cycles.h>

#include <algorithm>
#include <cstring>

#include "bench/bench.h"
#include "click/parser.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/packet_pool.h"
#include "engine/engine.h"

namespace heddle::bench {
namespace {

constexpr uint8_t kAddresses[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

// Behind it packets are wanted as they are then; nothing is started but the lane.
Configuration mirror(LaunchMode launch, Transport transport) {
  click::Diagnostics diagnostics;
  const click::Graph graph =
      click::parse("Idle -> EtherMirror -> ToDump(/dev/null);", "<benchmark>", language(), diagnostics);
  Configuration made;
  made.router = Router::build(graph, diagnostics);
  if (diagnostics.ok())
    made.plan = make_plan(made.router, {.device = "gpu", .launch = launch, .transport = transport}, diagnostics);
  if (!diagnostics.ok()) throw Error(diagnostics.text());
  return made;
}

/** A lane through EtherMirror, and the thread that drives it. */
class Driver {
 public:
  Driver(LaunchMode launch, Transport transport)
      : chain_(mirror(launch, transport)),
        batch_packets_(launch == LaunchMode::persistent ? kBurst : kBatch),
        batch_(batch_packets_),
        back_(kBatch),
        gpus_(chain_.router, chain_.plan, std::make_unique<GpuPorts>(chain_.router, chain_.plan, nullptr)) {
    const auto gpu = std::ranges::find_if(chain_.plan.segments, [](auto& one) { return one.processor.is_gpu(); });
    const int of_a_batch = kBatch / gpu::kSlotPackets;
    const int slots = launch == LaunchMode::persistent ? chain_.plan.default_slots()
                      : launch == LaunchMode::sync     ? of_a_batch
                                                       : of_a_batch * gpu->streams();
    const auto packets = static_cast<unsigned>(4 * kBatch + 2 * slots * gpu::kSlotPackets);
    const PacketMemory memory = gpus_.packet_memory(PacketPool::bytes_for(packets, kRoom), 1, slots, kRoom);
    pool_ = std::make_unique<PacketPool>("drive", packets, kRoom, memory.base);
    gpus_.make_segments();
    lane_ = gpus_.make_lane(static_cast<size_t>(gpu - chain_.plan.segments.begin()), slots);
    gpus_.start();
    pin_to_core(1);
  }

  double ns_a_packet() {
    constexpr double kSeconds = 0.25;
    done_ = 0, ticks_ = {};
    const uint64_t first_tick = rte_rdtsc();
    const double start = seconds_now();
    while (seconds_now() < start + kSeconds) {
      if (lane_->in_flight() + batch_packets_ <= lane_->capacity()) feed(batch_packets_);
      while (collect()) {
      }
    }
    drain();
    const double tick_ns = (seconds_now() - start) * 1e9 / static_cast<double>(rte_rdtsc() - first_tick);
    const double scale = tick_ns / static_cast<double>(done_);
    const auto ns = [&](uint64_t ticks) { return static_cast<double>(ticks) * scale; };
    note_ = format("feed %.1f, flush %.1f, poll %.1f", ns(ticks_.feed), ns(ticks_.flush), ns(ticks_.poll));
    return ns(ticks_.feed + ticks_.flush + ticks_.poll);
  }
  /** Of the last round: where the time went. */
  const std::string& note() const { return note_; }

  double wake_us() {
    constexpr double kIdleSeconds = 0.1;
    for (const double idle_since = seconds_now(); seconds_now() < idle_since + kIdleSeconds;) {
    }
    const double start = seconds_now();
    feed(1);
    drain();
    return (seconds_now() - start) * 1e6;
  }

 private:
  static constexpr int kBurst = 64, kBatch = 1024;
  static constexpr unsigned kRoom = RTE_MBUF_DEFAULT_BUF_SIZE;
  static constexpr uint16_t kLength = 64;

  /** Calls the lane; whether something moved. */
  template <class Call>
  bool timed(uint64_t& ticks, const Call& call) {
    const uint64_t before = rte_rdtsc();
    if (!call()) return false;
    ticks += rte_rdtsc() - before;
    return true;
  }
  void flush() {
    timed(ticks_.flush, [&] {
      lane_->flush();
      return true;
    });
  }

  void feed(int packets) {
    if (!pool_->allocate(batch_.packets(), static_cast<unsigned>(packets))) throw Error("the pool is empty");
    batch_.resize(packets);
    for (int i = 0; i < packets; ++i) {
      batch_.packet(i)->data_len = kLength, batch_.packet(i)->pkt_len = kLength;
      std::memcpy(batch_.frame(i), kAddresses, sizeof kAddresses);
    }
    for (int first = 0; first < packets;) {
      int taken = 0;
      if (timed(ticks_.feed, [&] { return (taken = lane_->feed(batch_, first)) > 0; })) {
        first += taken;
      } else {
        flush();
        collect();
      }
    }
    flush();
  }

  bool collect() {
    if (lane_->in_flight() == 0 || !timed(ticks_.poll, [&] { return lane_->poll(back_); })) {
      if (++in_vain_ % 0x100000 == 0)
        if (const std::string failure = lane_->failure(); !failure.empty()) throw Error(failure);
      return false;
    }
    done_ += static_cast<uint64_t>(back_.size());
    for (int i = 0; i < back_.size(); ++i)
      if (back_.next()[i] != 0 || std::memcmp(back_.frame(i), kAddresses + 6, 6) != 0 ||
          std::memcmp(back_.frame(i) + 6, kAddresses, 6) != 0)
        throw Error("the GPU gave a wrong result");
    back_.clear_marks(back_.size());
    back_.free_packets();
    return true;
  }
  void drain() {
    while (lane_->in_flight() > 0) collect();
  }

  Configuration chain_;
  const int batch_packets_;
  Batch batch_, back_;
  Gpus gpus_;
  std::unique_ptr<PacketPool> pool_;
  std::unique_ptr<Lane> lane_;
  struct {
    uint64_t feed = 0, flush = 0, poll = 0;
  } ticks_;  // within the lane's calls
  uint64_t done_ = 0, in_vain_ = 0;
  std::string note_;
};

std::vector<Result> drive() {
  std::vector<Result> results;
  for (size_t l = kLaunchModes.size(); l-- > 0;)
    for (size_t t = 0; t < kTransports.size(); ++t) {
      const auto launch = static_cast<LaunchMode>(l);
      const auto transport = static_cast<Transport>(t);
      const bool resident = launch == LaunchMode::persistent;
      if (resident && copies_by_engine(transport)) continue;
      Driver driver(launch, transport);
      results.push_back(absolute(format("gpu-drive-%s-%s", name(launch), name(transport)), "ns", resident ? 4 : 10,
                                 true, 5, [&] { return driver.ns_a_packet(); }));
      results.back().note = driver.note() + (launch == LaunchMode::sync ? ", with the wait for the kernel" : "");
      if (launch == LaunchMode::sync || (transport != Transport::direct && transport != Transport::gather))
        results.back().target = 0;
    }
  return results;
}

std::vector<Result> wake() {
  constexpr int kRounds = 5, kTrips = 100;
  std::vector<Result> results;
  for (const Transport transport : {Transport::direct, Transport::gather}) {
    Driver driver(LaunchMode::persistent, transport);
    std::vector<double> medians, tails;  // by round, the first of which absolute() does not count
    for (int round = 0; round <= kRounds; ++round) {
      std::vector<double> us;
      for (int trip = 0; trip < kTrips; ++trip) us.push_back(driver.wake_us());
      medians.push_back(percentile(us, 0.5)), tails.push_back(percentile(us, 0.99));
    }
    for (const auto& [which, of_rounds] : {std::pair{"p50", &medians}, std::pair{"p99", &tails}}) {
      results.push_back(absolute(format("gpu-wake-%s-%s", name(transport), which), "us", 20, true, kRounds,
                                 [of = of_rounds, round = 0u]() mutable { return (*of)[round++]; }));
      results.back().note = "one packet behind 100 ms of none";
    }
  }
  return results;
}

const Register gpu_drive("gpu-drive", true, drive), gpu_wake("gpu-wake", true, wake);

}  // namespace
}  // namespace heddle::bench
