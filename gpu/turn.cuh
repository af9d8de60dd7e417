#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cuda/atomic>

#include "gpu/program.h"
#include "gpu/slot.h"

namespace heddle::gpu {

/** A tile's turns at the functions of its program that want packets in the order of arrival (kInTurn): at each of them
 *  the tiles of a ring pair have it one after the other, in the order in which their packets came. Lies in shared
 *  memory; one warp of the tile's calls everything together. */
class Turn {
 public:
  /** The tile has packets [start, end) of the ring pair, whose `words` say, by function, whose turn it is: the tile's
   *  that begins there. They are shared memory, or, with `far`, device memory that other blocks use as well. Only lane
   *  0 calls it. */
  __device__ void begin(uint32_t* words, bool far, uint32_t start, uint32_t end) {
    words_ = words, far_ = far, start_ = start, end_ = end, at_ = 0;
  }

  /** Waits for the tiles before this one. What their functions did before they passed their turn on is seen; with
   *  `relaxed`, only what they did by atomic operations. */
  __device__ __noinline__ void take(bool relaxed = false) const {
    if (threadIdx.x % kLanes == 0)
      while ((relaxed ? load<cuda::memory_order_relaxed>() : load<cuda::memory_order_acquire>()) != start_) continue;
    __syncwarp();
  }
  /** Lets the next tile have it. With `relaxed` only atomic operations are sure to be seen, and of these the ones whose
   *  results the whole warp has used: the next tile does not wait until memory has what this one has written. PTX's
   *  memory model does not promise that; it holds because a result has come back from the L2 before the word is stored,
   *  and because no call of these two functions is inlined. */
  __device__ __noinline__ void pass(bool relaxed = false) {
    __syncwarp();
    if (threadIdx.x % kLanes == 0) {
      relaxed ? store<cuda::memory_order_relaxed>() : store<cuda::memory_order_release>();
      ++at_;
    }
    __syncwarp();
  }

  /** No packet of the tile comes to a node before `node` any more: passes on what it has not used, with all that was
   *  seen in taking it. */
  static __device__ __noinline__ void reach(Turn& turn, const Program& program, int node) {
    while (turn.at_ < program.turns && program.in_turn[turn.at_] < node) turn.take(), turn.pass();
  }

 private:
  using NearWord = cuda::atomic_ref<uint32_t, cuda::thread_scope_block>;
  using FarWord = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;
  template <cuda::memory_order order>
  __device__ uint32_t load() const {
    return far_ ? FarWord(words_[at_]).load(order) : NearWord(words_[at_]).load(order);
  }
  template <cuda::memory_order order>
  __device__ void store() const {
    far_ ? FarWord(words_[at_]).store(end_, order) : NearWord(words_[at_]).store(end_, order);
  }

  uint32_t* words_;
  bool far_;
  uint32_t start_, end_;
  int at_;  // the first function whose turn it has not passed on
};

}  // namespace heddle::gpu
