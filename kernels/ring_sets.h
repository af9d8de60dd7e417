#pragma once

#include <array>
#include <span>
#include <vector>

#include "gpu/device.h"
#include "gpu/residency.h"
#include "kernels/arena.h"
#include "kernels/ring_serving.h"
#include "kernels/rings.h"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {

/** The ring pairs of a device: what gpu/device.h says of rings. One thread at a time uses it, with the device
 *  current. */
class RingSets {
 public:
  /** Loads the kernels; `most_shared_bytes`: of a block, with what a kernel has of its own. */
  explicit RingSets(size_t most_shared_bytes);
  ~RingSets();

  bool empty() const { return sets_.empty(); }
  /** `bytes`: of shared memory that a program wants. `stage_bytes`: that teams gather of a packet at most, gated by
   *  `gate`; 0: programs work on packets where they lie. `split`: three kernels serve them. */
  RingsId add(size_t bytes, int pairs, RingKind kind, int workers, bool split, uint32_t stage_bytes, Gate* gate);
  /** By kernel. */
  std::vector<Residents> residents() const;
  /** Before the first start(): `residents` are what residents() has said, with the blocks that there is room for;
   *  `beside_others` as set_carveout() has it. */
  void settle(std::span<const Residents> residents, bool beside_others);
  void start(RingsId rings, const RingLaunch& launch, const Program* program, RingCount* drops);
  std::vector<RingStop> stop(RingsId rings);
  void stop_all();
  RingFault fault(RingsId rings) const;
  bool running() const;
  /** cudaSuccess, or what has become of a kernel. */
  cudaError_t state() const;

 private:
  struct Kernel {
    RingKernel launcher;
    size_t most_dynamic_bytes, static_bytes;
    int registers;
  };
  /** One of the kernels that serve a set. */
  struct Stage {
    const Kernel* kernel;
    const char* what;  // for messages, behind "ring pairs of a port"
    int warps;         // of a block
    size_t dynamic_bytes;
    cudaStream_t stream;
    int threads() const { return warps * kLanes; }
  };
  struct Set {
    std::vector<Stage> stages;  // in the order in which packets go through them
    RingPair* pairs;            // pinned, [count]
    RingControl* controls;      // pinned, [count]
    RingOutput* outputs;        // pinned, [count][kMaxOutputs] at most; null: as in RingServing
    uint32_t output_count;      // of a pair, since the last start
    FarBoard *boards,
        *first_boards;  // [count], in device memory, and pinned, as they are at the start; null: one block a pair
    RingHandover *handovers, *first_handovers;  // [count], the same; null: one kernel
    HandedTile* tiles;                          // as in RingServing
    int count, blocks;                          // pairs, and blocks of each
    size_t memory_units;                        // as in RingServing
    uint8_t* stage;                             // as in RingServing
    uint32_t stage_bytes;
    Gate* gate;
    bool running;
  };
  void load(Kernel& kernel, const RingKernel& launcher, size_t most_shared_bytes);
  /** Copies what `first` says of each pair to `to`, in device memory, before anything that is launched from now on. */
  template <class T>
  static void begin(const Set& set, T* to, T* first) {
    if (to == nullptr) return;
    for (int i = 0; i < set.count; ++i) first[i].begin(set.pairs[i]);
    const cudaStream_t stream = set.stages[0].stream;
    HEDDLE_CUDA_CHECK(
        cudaMemcpyAsync(to, first, static_cast<size_t>(set.count) * sizeof(T), cudaMemcpyHostToDevice, stream));
    HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  Arena pinned_, device_;
  static constexpr int kAlike = 3;               // kinds of rings that are alike: all but `routed`
  Kernel kernels_[kAlike][2];                    // with one block a pair, or several
  std::array<Kernel, 3> split_kernels_[kAlike];  // with three kernels
  Kernel routed_;
  std::vector<Set> sets_;
};

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
