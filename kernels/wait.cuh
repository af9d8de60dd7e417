#pragma once

// How a warp of a persistent kernel learns of work.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "gpu/slot.h"

namespace heddle::gpu {

template <class T>
using SystemAtomic = cuda::atomic_ref<T, cuda::thread_scope_system>;

constexpr uint32_t kAlertSlots = 4;        ///< the first slots of a group serve low load: they stay awake longer
constexpr unsigned kAlertPolls = 1 << 14;  ///< empty polls (about 1 us each) before an alert slot's warp dozes off
constexpr unsigned kPolls = 64;            ///< the same of the other slots
constexpr unsigned kLeastSleepNs = 500, kMostSleepNs = 8000;

/** This lane's word of a slot that the host has filled before it launched. */
__device__ inline uint64_t load_word(Slot& slot) {
  const uint64_t word = SystemAtomic<uint64_t>(slot.word[threadIdx.x]).load(cuda::memory_order_acquire);
  __syncwarp();
  return word;
}

/** Waits until all words of `slot`, the index-th of its group, carry `stamp`; returns this lane's, or 0 when the kernel must
 *  end. Every lane polls its own word, so detection costs one PCIe round trip. Idle warps would fill the PCIe link with
 *  polls: one whose slot stays empty dozes, and one lane looks at one word now and then. Since the host fills the lowest
 *  free slot, as many warps are awake as the load needs.
 *
 *  No two warps read the same word: the GPU serialises reads of one address in host memory, about 1 us each, so that 256
 *  warps looking at one stop flag hold up every poll of it for 280 us. */
__device__ inline uint64_t wait_for(Slot& slot, uint32_t stamp, uint32_t index) {
  const int lane = static_cast<int>(threadIdx.x);
  const unsigned patience = index < kAlertSlots ? kAlertPolls : kPolls;
  for (unsigned idle = 0;; ++idle) {
    const uint64_t word = SystemAtomic<uint64_t>(slot.word[lane]).load(cuda::memory_order_acquire);
    if (__all_sync(~0u, stamp_of(word) == stamp)) {
      __syncwarp();
      return word;
    }
    if (__any_sync(~0u, word == kStopWord)) return 0;
    if (idle < patience) continue;
    unsigned sleep_ns = kLeastSleepNs;
    for (uint64_t first = word;;) {
      first = __shfl_sync(~0u, first, 0);
      if (stamp_of(first) == stamp || first == kStopWord) break;
      __nanosleep(sleep_ns);
      sleep_ns = sleep_ns * 2 < kMostSleepNs ? sleep_ns * 2 : kMostSleepNs;
      if (lane == 0) first = SystemAtomic<uint64_t>(slot.word[0]).load(cuda::memory_order_relaxed);
    }
    idle = 0;
  }
}

}  // namespace heddle::gpu
