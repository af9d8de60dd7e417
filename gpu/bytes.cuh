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

/** load_u32(at) for every lane of a warp with `wanted`; the others get 0. Called by all lanes. A field of four bytes often lies
 *  across two 32-byte sectors (an IPv4 destination behind 128 bytes of headroom does), which would be two PCIe reads of a
 *  lane; here two neighbouring lanes fetch the two words of a packet together, as one. */
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

/** Replaces every byte of this function's packets: `change(uint4)` for 16 aligned bytes, `change(uint32_t)` for one byte at
 *  an unaligned edge. The whole block calls it; thread t takes the 16-byte pieces t, t + threads, ... of all packets
 *  laid end to end, kAhead of them in flight, so that packets of any mixture of lengths keep all threads busy. Packets of
 *  more than a few pieces are laid out by whole 128-byte lines, so that a warp's accesses fall on whole lines: a line
 *  split between two accesses is two PCIe transfers.
 *  Writes no byte outside the packets. Contains block.sync(); results are in place after the next one. */
template <class Change>
__device__ void transform_bytes(const Block& block, Tile& tile, const Change& change) {
  constexpr int kAhead = 8;
  constexpr uint32_t kPiece = 16, kLine = 128;
  const auto unit_of = [&](int i) { return tile.length(i) > kLine ? kLine : kPiece; };
  const auto start_of = [&](int i) { return reinterpret_cast<uintptr_t>(tile.frame(i)) & ~uintptr_t{unit_of(i) - 1}; };
  const auto pieces_of = [&](int i) {
    const uintptr_t end = reinterpret_cast<uintptr_t>(tile.frame(i)) + tile.length(i), unit = unit_of(i);
    return static_cast<uint32_t>((((end + unit - 1) & ~(unit - 1)) - start_of(i)) / kPiece);
  };
  // scratch[k]: pieces of the packets before the k-th. Inclusive scan over the (at most 32) packets of the tile.
  const int lane = block.thread;
  uint32_t sum = lane < tile.count() && tile.length(tile.packet(lane)) > 0 ? pieces_of(tile.packet(lane)) : 0;
  for (int step = 1; step < kTile; step *= 2) {
    const uint32_t other = __shfl_up_sync(~0u, sum, static_cast<unsigned>(step));
    if (lane >= step) sum += other;
  }
  if (lane == 0) tile.scratch[0] = 0;
  tile.scratch[lane + 1] = sum;
  block.sync();
  const uint32_t total = tile.scratch[tile.count()];

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
      while (piece >= tile.scratch[k + 1]) ++k;
      const int i = tile.packet(k);
      const auto first = reinterpret_cast<uintptr_t>(tile.frame(i)), last = first + tile.length(i);
      const uintptr_t here = start_of(i) + uintptr_t{kPiece} * (piece - tile.scratch[k]);
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
