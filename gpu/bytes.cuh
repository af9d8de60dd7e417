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

/** A value of 32-bit words at any address, in memory order; two-byte aligned addresses (frames behind a NIC) take
 *  half-words. */
template <class T>
__device__ inline T load(const uint8_t* at) {
  T value;
  constexpr int kWords = sizeof(T) / 4;
  auto* words = reinterpret_cast<uint32_t*>(&value);
  for (int i = 0; i < kWords; ++i) words[i] = load_u32(at + 4 * i);
  return value;
}
template <class T>
__device__ inline void store(uint8_t* at, const T& value) {
  constexpr int kWords = sizeof(T) / 4;
  const auto* words = reinterpret_cast<const uint32_t*>(&value);
  for (int i = 0; i < kWords; ++i) {
    if (is_aligned<4>(at)) {
      reinterpret_cast<uint32_t*>(at)[i] = words[i];
    } else if (is_aligned<2>(at)) {
      reinterpret_cast<uint16_t*>(at)[2 * i] = static_cast<uint16_t>(words[i]);
      reinterpret_cast<uint16_t*>(at)[2 * i + 1] = static_cast<uint16_t>(words[i] >> 16);
    } else {
      for (int b = 0; b < 4; ++b) at[4 * i + b] = static_cast<uint8_t>(words[i] >> (8 * b));
    }
  }
}

/** Replaces every byte of this function's packets: `change(uint4)` for 16 aligned bytes, `change(uint32_t)` for one
 * byte at an unaligned edge. The whole block calls it; thread t takes the 16-byte pieces t, t + threads, ... of all
 * packets laid end to end, kAhead of them in flight, so that packets of any mixture of lengths keep all threads busy.
 *  Writes no byte outside the packets. Contains block.sync(); results are in place after the next one. */
template <class Change>
__device__ void transform_bytes(const Block& block, Tile& tile, const Change& change) {
  constexpr int kAhead = 8;
  const auto piece_count = [&](int k) {
    const int i = tile.packet(k);
    const auto from = reinterpret_cast<uintptr_t>(tile.frame(i));
    return static_cast<uint32_t>((((from + tile.length(i) + 15) & ~uintptr_t{15}) - (from & ~uintptr_t{15})) / 16);
  };
  // scratch[k]: pieces of the packets before the k-th. Inclusive scan over the (at most 32) packets of the tile.
  const int lane = block.thread;
  uint32_t sum = lane < tile.count() && tile.length(tile.packet(lane)) > 0 ? piece_count(lane) : 0;
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
      uint8_t* const first = tile.frame(i);
      uint8_t* const last = first + tile.length(i);
      auto* const here = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(first) & ~uintptr_t{15}) +
                                                    uintptr_t{16} * (piece - tile.scratch[k]));
      if (here >= first && here + 16 <= last) {
        at[u] = reinterpret_cast<uint4*>(here);
        bytes[u] = *at[u];
      } else {
        for (uint8_t* p = here < first ? first : here; p < here + 16 && p < last; ++p)
          *p = static_cast<uint8_t>(change(static_cast<uint32_t>(*p)));
      }
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      if (at[u] != nullptr) *at[u] = change(bytes[u]);
  }
}

}  // namespace heddle::gpu
