#pragma once

// Packets from one buffer to another, for rings whose buffers cannot change places.

#include "gpu/bytes.cuh"

namespace heddle::gpu {

/** Copies a packet a lane, `length` bytes (0: none) from `from` to `to`. The whole warp calls it; four lanes work on a packet
 *  at a time. Writes no other byte. */
__device__ inline void copy_frames(const uint8_t* from, uint8_t* to, uint32_t length) {
  constexpr int kTeam = 4;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, rank = lane % kTeam;
  for (int round = 0; round < kTeam; ++round) {
    const int owner = round * (kLanes / kTeam) + lane / kTeam;
    const auto source = __shfl_sync(~0u, reinterpret_cast<uint64_t>(from), owner);
    const auto target = __shfl_sync(~0u, reinterpret_cast<uint64_t>(to), owner);
    const uint32_t bytes = __shfl_sync(~0u, length, owner);
    const auto* x = reinterpret_cast<const uint8_t*>(source);
    auto* y = reinterpret_cast<uint8_t*>(target);
    uint32_t done = 0;
    if (((source | target) & 15) == 0) {
      done = bytes & ~15u;
#pragma unroll 4
      for (uint32_t at = rank * 16; at < done; at += kTeam * 16)
        *reinterpret_cast<uint4*>(y + at) = *reinterpret_cast<const uint4*>(x + at);
    } else if (((source | target) & 3) == 0) {
      done = bytes & ~3u;
#pragma unroll 4
      for (uint32_t at = rank * 4; at < done; at += kTeam * 4)
        *reinterpret_cast<uint32_t*>(y + at) = *reinterpret_cast<const uint32_t*>(x + at);
    }
    for (uint32_t at = done + rank; at < bytes; at += kTeam) y[at] = x[at];
  }
}

}  // namespace heddle::gpu
