#pragma once

// Packet bytes on the GPU, wherever they lie and however they are aligned.

#include <cuda_runtime.h>

#include "gpu/tile.cuh"

namespace heddle::gpu {

/** Four bytes at any address, in memory order. Reads the aligned 8-byte word around them, or two of 4 bytes: one or two
 * PCIe reads instead of four. Never leaves the aligned words that contain the bytes. */
__device__ inline uint32_t load_u32(const uint8_t* at) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  const uint32_t shift = static_cast<uint32_t>(address & 7) * 8;
  if (shift <= 32) {
    const auto word = *reinterpret_cast<const unsigned long long*>(address & ~uintptr_t{7});
    return static_cast<uint32_t>(word >> shift);
  }
  const auto* words = reinterpret_cast<const uint32_t*>(address & ~uintptr_t{3});
  return __funnelshift_r(words[0], words[1], static_cast<uint32_t>(address & 3) * 8);
}

template <int bytes>
__device__ inline bool is_aligned(const void* at) {
  return (reinterpret_cast<uintptr_t>(at) & (bytes - 1)) == 0;
}

/** load_u32(at) for every lane of a warp with `wanted`; the others get 0. Called by all lanes. A field of four bytes
 *  often lies across two 32-byte sectors (an IPv4 destination behind 128 bytes of headroom does), which would be two
 *  PCIe reads of a lane; here two neighbouring lanes fetch the two words of a packet together, as one. */
__device__ inline uint32_t load_u32_each(const uint8_t* at, bool wanted) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const auto mine = wanted ? reinterpret_cast<uint64_t>(at) : uint64_t{0};
  // Packets 0..15, then 16..31; both requests are on their way before the first answer is needed.
  uint32_t word[2], shift[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint64_t address = __shfl_sync(~0u, mine, half * 16 + lane / 2);
    shift[half] = static_cast<uint32_t>(address & 3) * 8;
    word[half] = 0;
    if (address != 0 && (lane % 2 == 0 || shift[half] != 0))
      word[half] = reinterpret_cast<const uint32_t*>(address & ~uint64_t{3})[lane % 2];
  }
  uint32_t value = 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint32_t next = __shfl_down_sync(~0u, word[half], 1);
    const uint32_t found = __shfl_sync(~0u, __funnelshift_r(word[half], next, shift[half]), lane % 16 * 2);
    if (lane / 16 == half) value = found;
  }
  return value;
}

/** Stores four bytes, in memory order, at any address; writes no other byte. */
__device__ inline void store_u32(uint8_t* at, uint32_t word) {
  if (is_aligned<4>(at)) {
    *reinterpret_cast<uint32_t*>(at) = word;
  } else if (is_aligned<2>(at)) {  // frames behind a NIC
    reinterpret_cast<uint16_t*>(at)[0] = static_cast<uint16_t>(word);
    reinterpret_cast<uint16_t*>(at)[1] = static_cast<uint16_t>(word >> 16);
  } else {
    for (int b = 0; b < 4; ++b) at[b] = static_cast<uint8_t>(word >> (8 * b));
  }
}

/** The 16-byte pieces of a tile's packets laid end to end, so that packets of any mixture of lengths keep all threads
 *  busy: thread t takes the pieces t, t + threads, ... Packets of more than a few pieces are laid out by whole 128-byte
 *  lines, so that a warp's accesses fall on whole lines: a line split between two accesses is two PCIe transfers. */
struct Pieces {
  static constexpr uint32_t kBytes = 16, kLine = 128;
  uint32_t before[kSlotPackets + 1];  ///< [k]: pieces of the packets before the function's k-th

  static __device__ uint32_t unit_of(const Tile& tile, int i) { return tile.length(i) > kLine ? kLine : kBytes; }
  /** Address of packet i's first piece. */
  static __device__ uintptr_t start_of(const Tile& tile, int i) {
    return reinterpret_cast<uintptr_t>(tile.frame(i)) & ~uintptr_t{unit_of(tile, i) - 1};
  }
  /** Counts the pieces; the whole block calls it. In place for all threads on return. */
  __device__ void lay_out(const Block& block, const Tile& tile) {
    if (block.thread < kLanes) {
      uint32_t pieces = 0;
      if (block.thread < tile.count() && tile.length(tile.packet(block.thread)) > 0) {
        const int i = tile.packet(block.thread);
        const uintptr_t end = reinterpret_cast<uintptr_t>(tile.frame(i)) + tile.length(i), unit = unit_of(tile, i);
        pieces = static_cast<uint32_t>((((end + unit - 1) & ~(unit - 1)) - start_of(tile, i)) / kBytes);
      }
      if (block.thread == 0) before[0] = 0;
      before[block.thread + 1] = Group<kLanes>(block).inclusive_sum(pieces);
    }
    block.sync();
  }
  __device__ uint32_t total(const Tile& tile) const { return before[tile.count()]; }
};

/** Replaces every byte of this function's packets: `change(uint4)` for 16 aligned bytes, `change(uint32_t)` for one
 *  byte at an unaligned edge. The whole block calls it; each thread has kAhead pieces in flight. Writes no byte outside
 *  the packets. Results are in place after the next sync. */
template <class Change>
__device__ void transform_bytes(const Block& block, Tile& tile, Pieces& pieces, const Change& change) {
  constexpr int kAhead = 8;
  constexpr uint32_t kPiece = Pieces::kBytes;
  pieces.lay_out(block, tile);
  const uint32_t total = pieces.total(tile);

  int k = 0;  // the packet of this thread's piece; pieces only move forward
  for (uint32_t base = static_cast<uint32_t>(block.thread); base < total;
       base += static_cast<uint32_t>(kAhead * block.threads)) {
    uint4 bytes[kAhead];
    uint4* at[kAhead];  // null: nothing, or an edge that has been done bytewise
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const uint32_t piece = base + static_cast<uint32_t>(u * block.threads);
      at[u] = nullptr;
      if (piece >= total) continue;
      while (piece >= pieces.before[k + 1]) ++k;
      const int i = tile.packet(k);
      const auto first = reinterpret_cast<uintptr_t>(tile.frame(i)), last = first + tile.length(i);
      const uintptr_t here = Pieces::start_of(tile, i) + uintptr_t{kPiece} * (piece - pieces.before[k]);
      if (here >= first && here + kPiece <= last) {
        at[u] = reinterpret_cast<uint4*>(here);
        bytes[u] = *at[u];
        continue;
      }
      for (uintptr_t p = here < first ? first : here; p < here + kPiece && p < last; ++p) {
        auto* byte = reinterpret_cast<uint8_t*>(p);
        *byte = static_cast<uint8_t>(change(static_cast<uint32_t>(*byte)));
      }
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      if (at[u] != nullptr) *at[u] = change(bytes[u]);
  }
}

}  // namespace heddle::gpu
