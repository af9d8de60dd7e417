// gpu-flow-counter: FlowCounter in the persistent kernel, packets of 1, 10,000 and 1,000,000 flows in random order, and
// against the same slots with an element that only counts packets. Four host threads fill slots of 32 packets as fast
// as they can; nothing of the packets themselves is read. The counts of all flows must add up to the packets and bytes
// that were sent.
// gpu-flow-chain: FlowCounter -> LoadBalancer -> RateLimiter in the same way, as they stand behind a FlowTable, which
// gives flows, times and places of headers; 60-byte packets of UDP in a pool of 65,536, whose headers are read and
// changed in place over PCIe. No flow comes to the limit, 1,000,000 packets a second. Every packet must pass, and come
// to have one of the servers and right checksums.

#include <arpa/inet.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "bench/gpu_slots.h"
#include "core/checksum.h"
#include "core/load.h"
#include "functions/flow/bucket.h"
#include "functions/flow/place_counts.h"
#include "functions/flow/servers.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kLength = 64, kGeneration = 3;
constexpr double kSeconds = 0.25;
constexpr int kRounds = 5;

class Setup {
 public:
  /** `counts`: by flow; if not, only in all. */
  Setup(uint32_t flows, bool counts) : flows_(flows), places_(flow::Places::of(flows)), counts_by_flow_(counts) {
    gpu::Device& device = slots_.device();
    counts_ = device.add_state(size_t{flows} * sizeof(flow::PlaceCounts));
    gpu::ProgramSpec spec;
    spec.nodes = {{}};
    spec.nodes[0].function = -1;
    if (counts) {
      spec.nodes[0].function = gpu::function_id("FlowCounter");
      spec.nodes[0].table = device.add_table(std::as_bytes(std::span(&places_, 1)));
      spec.nodes[0].state = counts_;
    }
    spec.nodes[0].outputs = {gpu::kExit};
    spec.columns_in = 0, spec.columns = columns(Column::flow);
    spec.word_column = static_cast<int>(Column::flow);
    slots_.start(spec);
  }

  /** Throws Error if packets have not been counted, or not once. */
  double mpps() {
    std::atomic<uint64_t> sent{0};
    const auto fill = [&](gpu::Slot&, uint32_t first, uint64_t* place) {
      thread_local uint64_t random = first + 1;
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const auto flow = static_cast<uint32_t>((random >> 32) * flows_ >> 32);
        place[p] = gpu::pack_word(0, kLength, places_.column_of(flow, kGeneration));
      }
    };
    const auto check = [&](const gpu::SlotRing&, int, uint32_t) {
      sent.fetch_add(gpu::kSlotPackets, std::memory_order_relaxed);
      return true;
    };
    const double mpps = slots_.packets_per_second(kSeconds, fill, check) * 1e-6;
    if (counts_by_flow_) check_counts(sent);
    return mpps;
  }

 private:
  void check_counts(uint64_t sent) {
    std::vector<flow::PlaceCounts> counts(flows_);
    slots_.device().read_state(counts_, 0, std::as_writable_bytes(std::span(counts)));
    uint64_t packets = 0, bytes = 0;
    for (const flow::PlaceCounts& flow : counts) {
      if (flow::is_of(flow.packets, kGeneration)) packets += flow::count_in(flow.packets);
      if (flow::is_of(flow.bytes, kGeneration)) bytes += flow::count_in(flow.bytes);
    }
    if (packets != sent || bytes != sent * kLength)
      throw Error(format("the GPU has counted %llu packets of %llu", static_cast<unsigned long long>(packets),
                         static_cast<unsigned long long>(sent)));
  }

  uint32_t flows_;
  flow::Places places_;
  bool counts_by_flow_;
  gpu::StateId counts_;
  GpuSlots slots_;
};

std::vector<Result> gpu_flow_counter() {
  std::vector<Result> results;
  for (const uint32_t flows : {1u, 10'000u, 1'000'000u})
    results.push_back(paired(
        format("gpu-flow-counter-%u", flows), "Mpps", 0, kRounds, [&] { return Setup(flows, true).mpps(); },
        [&] { return Setup(flows, false).mpps(); }));
  return results;
}

/** FlowCounter, LoadBalancer and RateLimiter as one segment. */
class Chain {
 public:
  explicit Chain(uint32_t flows)
      : flows_(flows), places_(flow::Places::of(flows)), limits_{places_, 1000000, 65535 * flow::Bucket::kToken, 0} {
    servers_.set(kServers);
    servers_.set_places(places_);
    for (uint32_t i = 0; i < GpuSlots::kPackets; ++i) put_packet(i);
    gpu::Device& device = slots_.device();
    counts_ = device.add_state(size_t{flows} * sizeof(flow::PlaceCounts));
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("FlowCounter"),
                   {},
                   device.add_table(std::as_bytes(std::span(&places_, 1))),
                   counts_,
                   {1},
                   {}},
                  {gpu::function_id("LoadBalancer"),
                   {},
                   device.add_table(servers_.bytes()),
                   device.add_state(size_t{flows} * sizeof(flow::PlaceServer)),
                   {2},
                   {}},
                  {gpu::function_id("RateLimiter"),
                   {},
                   device.add_table(std::as_bytes(std::span(&limits_, 1))),
                   device.add_state(size_t{flows} * sizeof(flow::PlaceBucket)),
                   {gpu::kExit + kWithin},
                   {gpu::kExit + kBeyond}}};
    spec.counts = device.add_state(spec.nodes.size() * sizeof(gpu::NodeCounts));
    spec.columns_in = kIn, spec.columns = kIn | columns(Column::dst);
    spec.first_drop = kBeyond;
    spec.writes_packets = true;
    slots_.start(spec);
  }

  /** Throws Error if a packet has not been counted, or is wrong. */
  double mpps() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      thread_local uint64_t random = first + 1;
      uint32_t* const flow = GpuSlots::column(slot, kIn, Column::flow);
      uint32_t* const ms = GpuSlots::column(slot, kIn, Column::flow_ms);
      uint32_t* const l3 = GpuSlots::column(slot, kIn, Column::l3);
      uint32_t* const l4 = GpuSlots::column(slot, kIn, Column::l4);
      const auto now = static_cast<uint32_t>(seconds_now() * 1000);
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        ms[p] = now;
        flow[p] = places_.column_of(static_cast<uint32_t>((random >> 32) * flows_ >> 32), kGeneration);
        l3[p] = kL3, l4[p] = kL4;
        place[p] = slots_.place(first + p, kFrame);
      }
    };
    const std::vector<uint32_t> all_within(GpuSlots::kPackets, kWithin);
    const auto check = [&](const gpu::SlotRing& ring, int index, uint32_t first) {
      sent_.fetch_add(gpu::kSlotPackets, std::memory_order_relaxed);
      return GpuSlots::sample_of(all_within)(ring, index, first);
    };
    const double mpps = slots_.packets_per_second(kSeconds, fill, check) * 1e-6;
    check_all();
    return mpps;
  }

 private:
  static constexpr uint32_t kL3 = 14, kL4 = 34, kFrame = 60;
  static constexpr uint16_t kWithin = 0, kBeyond = 1;  // exits
  static constexpr ColumnSet kIn = columns(Column::flow, Column::flow_ms, Column::l3, Column::l4);
  static constexpr uint32_t kServers[] = {0x0100090a, 0x0200090a, 0x0300090a, 0x0400090a};  // 10.9.0.1 to 10.9.0.4

  void put_packet(uint32_t i) {
    uint8_t* const frame = slots_.frame(i);
    std::memset(frame, 0, kFrame);
    const uint8_t header[] = {0x45, 0, 0, kFrame - kL3, 0, 0, 0, 0, 64, 17, 0, 0, 10};
    std::memcpy(frame + kL3, header, sizeof header);
    store_u16(frame + kL3 + 14, static_cast<uint16_t>(i));
    const uint8_t rest[] = {192, 0, 2, 1, 0x10, 0, 0, 80, 0, kFrame - kL4};
    std::memcpy(frame + kL3 + 16, rest, sizeof rest);
    store_u16(frame + kL3 + 10, ip4_checksum(frame + kL3, 20));
    const auto sum = static_cast<uint16_t>(~transport_sum(frame));
    store_u16(frame + kL4 + 6, sum == 0 ? 0xffff : sum);
  }
  /** Of UDP with the pseudo header, as it lies: all ones with a right checksum. */
  static uint16_t transport_sum(const uint8_t* frame) {
    uint32_t sum = htons(17) + htons(kFrame - kL4);
    for (uint32_t at = kL3 + 12; at < kFrame; at += 2) sum += load_u16(frame + at);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(sum);
  }

  void check_all() {
    std::vector<flow::PlaceCounts> counts(flows_);
    slots_.device().read_state(counts_, 0, std::as_writable_bytes(std::span(counts)));
    uint64_t packets = 0;
    for (const flow::PlaceCounts& flow : counts)
      if (flow::is_of(flow.packets, kGeneration)) packets += flow::count_in(flow.packets);
    if (packets != sent_) throw Error("the GPU has not counted all packets, or not once");
    for (uint32_t i = 0; i < GpuSlots::kPackets; ++i) {
      const uint8_t* const frame = slots_.frame(i);
      if (std::ranges::find(kServers, load_u32(frame + kL3 + 16)) == std::end(kServers) ||
          !ip4_checksum_ok(frame + kL3, 20) || transport_sum(frame) != 0xffff)
        throw Error(format("packet %u has no server, or wrong checksums", i));
    }
  }

  uint32_t flows_;
  flow::Places places_;
  flow::Limits limits_;
  flow::ServerTable servers_;
  std::atomic<uint64_t> sent_{0};
  gpu::StateId counts_;
  GpuSlots slots_;
};

std::vector<Result> gpu_flow_chain() {
  std::vector<Result> results;
  for (const uint32_t flows : {10'000u, 1'000'000u}) {
    Chain chain(flows);
    results.push_back(
        absolute(format("gpu-flow-chain-%u", flows), "Mpps", 100, false, kRounds, [&] { return chain.mpps(); }));
    results.back().target = 0;
    results.back().note = "FlowCounter, LoadBalancer, RateLimiter; beside what the chain should do on 12 cores";
  }
  return results;
}

const Register registered("gpu-flow-counter", true, gpu_flow_counter);
const Register registered_chain("gpu-flow-chain", true, gpu_flow_chain);

}  // namespace
}  // namespace heddle::bench
