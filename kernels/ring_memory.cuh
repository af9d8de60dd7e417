#pragma once

// What the blocks that serve ring pairs (kernels/ring_kernel.cuh, ring_split.cuh) have in shared memory.

#include "gpu/rings.h"
#include "gpu/tile.cuh"
#include "kernels/ring_serving.h"

namespace heddle::gpu {

/** Which buffer lies behind which descriptor of a ring, in shared memory while a kernel serves it, if there is room:
 *  each packet needs two of them, one after the other. In shared memory itself; the whole block calls its functions. */
struct NearBuffers {
  static constexpr uint32_t kMax = 2048;
  uint32_t* far;  ///< where they lie else
  uint32_t buffer[kMax];

  /** Lets `end`, which is this block's, name these. In place after the next sync. */
  __device__ void fetch(RingEnd& end) {
    const bool fits = end.owner && end.size <= kMax;
    uint32_t* const from = end.buffers;
    for (uint32_t slot = threadIdx.x; fits && slot < end.size; slot += blockDim.x) buffer[slot] = from[slot];
    __syncthreads();
    if (threadIdx.x != 0) return;
    far = from;
    if (fits) end.buffers = buffer;
  }
  /** Writes them back, when no warp uses the ring any more. */
  __device__ void put_back(const RingEnd& end) const {
    if (end.buffers == far) return;
    for (uint32_t slot = threadIdx.x; slot < end.size; slot += blockDim.x) far[slot] = buffer[slot];
  }
};

/** A tile of packets from a ring, and what placing them needs. */
struct RingTile : Tile {
  int drop[kSlotPackets];         ///< exit of a packet that is dropped, 0: it is not
  uint32_t buffer[kSlotPackets];  ///< owner of the receiving ring: where its buffer begins
  uint32_t number;                ///< the tile's; the scout's: of the next that it will make
  uint32_t start;                 ///< position of its first packet
  int packets;                    ///< how many there are
  unsigned goes_on;               ///< bit i: the i-th goes on in the next descriptor
  /** Whether the last one goes on in the next tile. */
  __device__ bool is_chained() const { return (goes_on >> (packets - 1) & 1) != 0; }
};

/** A team's. */
struct TeamTile : RingTile {
  uint8_t* to[kSlotPackets];  ///< where a packet is to be copied; null: nowhere
};

/** One whose packets leave by several rings. */
struct RoutedTile : TeamTile {
  int exit[kSlotPackets];        ///< number of the ring that a packet was to leave by; -1: none
  uint32_t place[kSlotPackets];  ///< there, if it is not dropped
};

/** Takes `bytes`, whole words, to memory of this block's. The whole block calls it. */
__device__ inline void take(void* to, const void* from, size_t bytes) {
  for (size_t i = threadIdx.x; i < bytes / sizeof(uint32_t); i += blockDim.x)
    static_cast<uint32_t*>(to)[i] = static_cast<const uint32_t*>(from)[i];
}

/** What a block has in shared memory if it serves a pair alone. */
struct RingBlock {
  NearBoard board;
  NearBuffers rx, tx;

  /** In place after the next sync. */
  __device__ void begin(RingPair& pair) {
    board.begin(pair, threadIdx.x, blockDim.x);
    rx.fetch(pair.rx);
    tx.fetch(pair.tx);
  }
  /** When no warp uses the rings any more. */
  __device__ void end(const RingPair& pair) const {
    rx.put_back(pair.rx);
    tx.put_back(pair.tx);
  }
};

}  // namespace heddle::gpu
