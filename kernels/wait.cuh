#pragma once

// How a block of a persistent kernel learns of work.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "gpu/block.cuh"
#include "gpu/slot.h"

namespace heddle::gpu {

template <class T>
using SystemAtomic = cuda::atomic_ref<T, cuda::thread_scope_system>;
template <class T>
using DeviceAtomic = cuda::atomic_ref<T, cuda::thread_scope_device>;

/** A clock that all multiprocessors share, for times of many microseconds: it ticks every microsecond or so. */
__device__ inline uint64_t nanoseconds() {
#ifdef HEDDLE_SIMT
  return static_cast<uint64_t>(clock64());
#else
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
#endif
}

/** What a resident block works for, and where it is woken. Device memory. */
struct Assignment {
  Slot* slot;
  uint32_t* wakes;  ///< of its group, by slot: counts how often the slot's block has been woken; device memory
  uint32_t index;   ///< of the slot in its group
  uint32_t count;   ///< slots of the group
};

constexpr unsigned kPolls = 64;                ///< empty polls (about 1 us each) before a block dozes off
constexpr unsigned kFirstSlotPolls = 1 << 14;  ///< the same of a group's first slot
constexpr unsigned kDozeNs = 250;              ///< a dozing block looks whether it has been woken every so often
constexpr unsigned kLooks = 256;               ///< looks at its wake word between two at its slot's first word
constexpr unsigned kFirstSlotDozeNs =
    4000;  ///< a group's first slot is woken by nobody: it looks at its own word instead

/** This lane's word of a slot that the host has filled before it launched. */
__device__ inline uint64_t load_word(Slot& slot) {
  const uint64_t word = SystemAtomic<uint64_t>(slot.word[threadIdx.x]).load(cuda::memory_order_acquire);
  __syncwarp();
  return word;
}

/** Called by one lane whose block has got work: wakes the two blocks that the next work may need. The host fills the
 *  lowest free slot, so those of higher slots are needed when all below are busy, and a block wakes those of slots 2i +
 *  1 and 2i + 2: few are awake when few are needed, and all of n are woken within log2(n) steps. */
__device__ inline void wake_next(const Assignment& mine) {
  for (uint32_t next = 2 * mine.index + 1; next <= 2 * mine.index + 2 && next < mine.count; ++next)
    count_up(mine.wakes[next], 1u);
}

/** Waits until all words of the slot carry `stamp`; returns this lane's, or 0 when the kernel must end. Called by
 *  warp 0. Every lane polls its own word, so detection costs one PCIe round trip. A block whose slot stays empty dozes:
 *  it looks at a word of its own in GPU memory, where others wake it, and only now and then at its slot, in case that
 *  was filled after it had dozed off again. So idle slots cost no PCIe reads to speak of.
 *
 *  No two warps read the same word of host memory: the GPU serialises reads of one address there, about 1 us each, so
 *  that 256 warps looking at one stop flag hold up every poll of it for 280 us. */
__device__ inline uint64_t wait_for(const Assignment& mine, uint32_t stamp) {
  const int lane = static_cast<int>(threadIdx.x);
  Slot& slot = *mine.slot;
  const unsigned patience = mine.index == 0 ? kFirstSlotPolls : kPolls;
  for (unsigned idle = 0;; ++idle) {
    const uint64_t word = SystemAtomic<uint64_t>(slot.word[lane]).load(cuda::memory_order_acquire);
    if (__all_sync(~0u, stamp_of(word) == stamp)) {
      if (lane == 0) wake_next(mine);
      __syncwarp();
      return word;
    }
    if (__any_sync(~0u, word == kStopWord)) return 0;
    if (idle < patience) continue;
    if (lane == 0) {
      const DeviceAtomic<uint32_t> wakes(mine.wakes[mine.index]);
      const uint32_t before = wakes.load(cuda::memory_order_relaxed);
      for (unsigned look = 1;; ++look) {
        if (mine.index == 0 || look % kLooks == 0) {
          const uint64_t first = SystemAtomic<uint64_t>(slot.word[0]).load(cuda::memory_order_relaxed);
          if (stamp_of(first) == stamp || first == kStopWord) break;
        }
        __nanosleep(mine.index == 0 ? kFirstSlotDozeNs : kDozeNs);
        if (wakes.load(cuda::memory_order_relaxed) != before) break;
      }
    }
    __syncwarp();
    idle = 0;
  }
}

}  // namespace heddle::gpu
