// gpu-flow-counter: FlowCounter in the persistent kernel, packets of 1, 10,000 and 1,000,000 flows in random order, and against the
// same slots with an element that only counts packets. Four host threads fill slots of 32 packets as fast as they can; nothing
// of the packets themselves is read. The counts of all flows must add up to the packets and bytes that were sent.

#include <atomic>
#include <vector>

#include "bench/gpu_slots.h"
#include "functions/flow/place_counts.h"

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

const Register registered("gpu-flow-counter", true, gpu_flow_counter);

}  // namespace
}  // namespace heddle::bench
