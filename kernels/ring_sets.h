#pragma once

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
  /** `stage_bytes`: that several blocks gather of a packet at most, gated by `gate`; 0: programs work on packets where
   *  they lie. */
  RingsId add(size_t warp_bytes, int pairs, RingKind kind, int workers, uint32_t stage_bytes, Gate* gate);
  std::vector<Residents> residents() const;
  void start(RingsId rings, const RingLaunch& launch, const Program* program, RingCount* drops);
  std::vector<RingStop> stop(RingsId rings);
  void stop_all();
  RingFault fault(RingsId rings) const;
  bool running() const;
  /** cudaSuccess, or what has become of a kernel. */
  cudaError_t state() const;

 private:
  /** What serves rings of a kind. */
  struct Kind {
    RingKernel kernel;
    size_t most_dynamic_bytes, static_bytes;
    int registers;
  };
  struct Set {
    const Kind* kind;
    RingPair* pairs;        // pinned, [count]
    RingControl* controls;  // pinned, [count]
    FarBoard *boards,
        *first_boards;  // [count], in device memory, and pinned, as they are at the start; null: one block a pair
    int count, blocks, workers;  // pairs, blocks of each, and workers of its first block
    size_t warp_units;           // dynamic shared memory, in 16 bytes
    uint8_t* stage;              // as in RingServing
    uint32_t stage_bytes;
    Gate* gate;
    cudaStream_t stream;
    bool running;
  };
  static int threads(const Set& set) { return (set.workers + 2) * kLanes; }
  /** Warps of a block that work on packets: all but the publisher. */
  static size_t users(const Set& set) { return static_cast<size_t>(set.workers) + 1; }
  static size_t dynamic_bytes(const Set& set) { return users(set) * set.warp_units * 16; }

  Arena pinned_, device_;
  Kind kinds_[kRingKinds][2];  // with one block a pair, or several
  std::vector<Set> sets_;
};

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
