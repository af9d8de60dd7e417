// gpu-gate: XOR over whole packets, gathered and written back, with the limit of bytes under way that the kernels find
// by themselves, against the best of several fixed ones, by packet length.

#include "bench/gpu_slots.h"
#include "functions/xor/rule.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr int kRounds = 3;
constexpr uint64_t kLimits[] = {768 << 10, 1152 << 10, 1536 << 10, 2 << 20, 3 << 20, 4 << 20, 6 << 20, 1 << 30};

class Gathered {
 public:
  explicit Gathered(uint32_t length) : length_(length), slots_(2, (length + 2 * GpuSlots::kHeadroom + 63) / 64 * 64) {
    const xor_bytes::Key key{0x5a5a5a5a};
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("XOR"),
                   {},
                   slots_.device().add_table(std::as_bytes(std::span(&key, 1))),
                   gpu::StateId::none,
                   {gpu::kExit},
                   {}}};
    spec.writes_packets = true;
    spec.copies.in = spec.copies.out = {0, gpu::Span::kToEnd};
    slots_.start(spec);
  }

  /** 0: the search's. */
  double gigabits(uint64_t limit) {
    slots_.device().limit_gathers(limit);
    const auto fill = [&](gpu::Slot&, uint32_t first, uint64_t* place) {
      for (uint32_t i = 0; i < gpu::kSlotPackets; ++i) place[i] = slots_.place(first + i, length_);
    };
    const auto check = [](const gpu::SlotRing& ring, int index, uint32_t) { return ring.outcome(index, 0).exit == 0; };
    return slots_.packets_per_second(kSeconds, fill, check) * 8e-9 * length_;
  }

 private:
  uint32_t length_;
  GpuSlots slots_;
};

const Register gpu_gate("gpu-gate", true, [] {
  std::vector<Result> results;
  for (const uint32_t length : {64u, 128u, 256u, 512u, 1024u, 1460u, 4096u, 9000u}) {
    Gathered gathered(length);
    uint64_t best = 0;
    double most = 0;
    for (const uint64_t limit : kLimits)
      if (const double rate = std::max(gathered.gigabits(limit), gathered.gigabits(limit)); rate > most)
        best = limit, most = rate;
    results.push_back(paired(
        format("gpu-gate-%u", length), "Gb/s", 0.95, kRounds, [&] { return gathered.gigabits(0); },
        [&] { return gathered.gigabits(best); }));
    results.back().note = format("against a limit of %.2f MB", static_cast<double>(best) / (1 << 20));
  }
  return results;
});

}  // namespace
}  // namespace heddle::bench
