#pragma once

// The threads of a tile, and what they do together.

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/slot.h"

namespace heddle::gpu {

/** The threads that work on one tile: 1 to 8 warps. Functions are written for any number of them. */
struct Block {
  int thread, threads;  ///< this thread, and how many there are, a multiple of 32
  /** Waits for all threads of the block; what they wrote before is visible to all of them after. */
  __device__ void sync() const {
    if (threads == kLanes)
      __syncwarp();
    else
      __syncthreads();
  }
};

/** `kSize` neighbouring threads of a warp (1, 2, 4, ..., 32) that work on something together: thread t of the block is
 *  rank t % kSize of group t / kSize. All threads of a warp call the operations together, whatever their groups do. */
template <int kSize>
class Group {
  static_assert(kSize >= 1 && kSize <= kLanes && (kSize & (kSize - 1)) == 0);

 public:
  explicit __device__ Group(const Block& block) : block_(block) {}
  __device__ int rank() const { return block_.thread % kSize; }
  __device__ int index() const { return block_.thread / kSize; }   ///< of the group in the block
  __device__ int count() const { return block_.threads / kSize; }  ///< groups of the block

  /** One value of the group's, in log2(kSize) steps: `join(value, next, e)` makes one of the value of 2^e neighbouring
   *  threads and that of the next 2^e. The result is valid on rank 0. */
  template <class T, class Join>
  __device__ T fold(T value, const Join& join) const {
#pragma unroll
    for (int e = 0; 1 << e < kSize; ++e) value = join(value, __shfl_down_sync(~0u, value, 1u << e, kSize), e);
    return value;
  }
  /** Sum of the group's values up to and with this thread's. */
  __device__ uint32_t inclusive_sum(uint32_t value) const {
#pragma unroll
    for (int step = 1; step < kSize; step *= 2) {
      const uint32_t other = __shfl_up_sync(~0u, value, static_cast<unsigned>(step), kSize);
      if (rank() >= step) value += other;
    }
    return value;
  }
  /** The value that rank 0 has. */
  template <class T>
  __device__ T from_first(T value) const {
    return __shfl_sync(~0u, value, 0, kSize);
  }

 private:
  const Block& block_;
};

/** For the threads of one warp: writes the numbers of the lanes with `wanted` to `list`, ascending and dense, and
 *  returns how many there are. In place after the next sync. */
__device__ inline int compact(bool wanted, uint8_t* list) {
  const unsigned lane = threadIdx.x % kLanes, who = __ballot_sync(~0u, wanted);
  if (wanted) list[__popc(who & ((1u << lane) - 1))] = static_cast<uint8_t>(lane);
  return __popc(who);
}

/** Adds to a counter in GPU memory, and waits for nothing. An atomicAdd() is waited for, about half a microsecond,
 *  where the compiler has to reckon with a counter in shared memory. */
__device__ inline void count_up(unsigned long long& counter, unsigned long long by) {
#ifdef HEDDLE_SIMT
  atomicAdd(&counter, by);
#else
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(&counter)), "l"(by)
               : "memory");
#endif
}
__device__ inline void count_up(uint32_t& counter, uint32_t by) {
#ifdef HEDDLE_SIMT
  atomicAdd(&counter, by);
#else
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(&counter)), "r"(by)
               : "memory");
#endif
}

}  // namespace heddle::gpu
