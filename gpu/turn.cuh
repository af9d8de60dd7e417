#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cuda/atomic>

#include "gpu/program.h"
#include "gpu/slot.h"

namespace heddle::gpu {

/** A tile's turns at the functions of its program that want packets in the order of arrival (kInTurn): at each of them
 *  the tiles of a ring pair have it one after the other, in the order in which their packets came. Lies in shared
 *  memory; a tile's one warp calls everything together. */
class Turn {
 public:
  /** The tile has packets [start, end) of the ring pair, whose `words` say, by function, whose turn it is: the tile's
   *  that begins there. They are shared memory, or, with `far`, device memory that other blocks use as well. Only lane
   *  0 calls it. */
  __device__ void begin(uint32_t* words, bool far, uint32_t start, uint32_t end) {
    words_ = words, far_ = far, start_ = start, end_ = end, at_ = 0;
  }

  /** Waits for the tiles before this one. What their functions did before they passed their turn on is seen. */
  __device__ __noinline__ void take() const {
    if (threadIdx.x % kLanes == 0)
      while ((far_ ? load<FarWord>() : load<NearWord>()) != start_) continue;
    __syncwarp();
  }
  /** Lets the next tile have it. */
  __device__ __noinline__ void pass() {
    __syncwarp();
    if (threadIdx.x % kLanes == 0) {
      far_ ? store<FarWord>() : store<NearWord>();
      ++at_;
    }
    __syncwarp();
  }

  /** No packet of the tile comes to a node before `node` any more: passes on what it has not used. */
  static __device__ __noinline__ void reach(Turn& turn, const Program& program, int node) {
    while (turn.at_ < program.turns && program.in_turn[turn.at_] < node) turn.take(), turn.pass();
  }

 private:
  using NearWord = cuda::atomic_ref<uint32_t, cuda::thread_scope_block>;
  using FarWord = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;
  template <class Word>
  __device__ uint32_t load() const {
    return Word(words_[at_]).load(cuda::memory_order_acquire);
  }
  template <class Word>
  __device__ void store() const {
    Word(words_[at_]).store(end_, cuda::memory_order_release);
  }

  uint32_t* words_;
  bool far_;
  uint32_t start_, end_;
  int at_;  // the first function whose turn it has not passed on
};

}  // namespace heddle::gpu
