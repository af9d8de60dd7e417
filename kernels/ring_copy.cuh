#pragma once

// Packets from one buffer to another, for rings whose buffers cannot change places.

#include "gpu/bytes.cuh"

namespace heddle::gpu {

/** Copies a packet a lane, `length` bytes from `from` to `to` (null: none), which do not overlap. The whole warp calls
 *  it; four lanes work on a packet at a time. Writes no other byte. Of several warps that have the same packets,
 *  `warps`, each calls it with its number, and copies some of them.
 *
 *  Each lane has `kAhead` pieces of 16 bytes in flight, for one end is often host memory, a microsecond away. The
 *  compiler would not put a load before a store in front of it: for all that it knows they may overlap. */
template <int kAhead>
__device__ inline void copy_frames(const uint8_t* from, uint8_t* to, uint32_t length, uint32_t warp = 0,
                                   uint32_t warps = 1) {
  if (to == nullptr) length = 0;
  constexpr uint32_t kTeam = 4, kPiece = sizeof(uint4), kStride = kTeam * kPiece;
  const uint32_t lane = threadIdx.x % kLanes, rank = lane % kTeam;
  for (uint32_t round = warp; round < kTeam; round += warps) {
    const auto owner = static_cast<int>(round * (kLanes / kTeam) + lane / kTeam);
    const auto source = __shfl_sync(~0u, reinterpret_cast<uint64_t>(from), owner);
    const auto target = __shfl_sync(~0u, reinterpret_cast<uint64_t>(to), owner);
    const uint32_t bytes = __shfl_sync(~0u, length, owner);
    const auto* x = reinterpret_cast<const uint8_t*>(source);
    auto* y = reinterpret_cast<uint8_t*>(target);
    uint32_t done = 0;
    if (((source | target) & (kPiece - 1)) == 0) {
      done = bytes & ~(kPiece - 1);
      for (uint32_t at = rank * kPiece; at < done; at += kAhead * kStride) {
        uint4 held[kAhead];
#pragma unroll
        for (uint32_t u = 0; u < kAhead; ++u)
          if (at + u * kStride < done) held[u] = *reinterpret_cast<const uint4*>(x + at + u * kStride);
#pragma unroll
        for (uint32_t u = 0; u < kAhead; ++u)
          if (at + u * kStride < done) *reinterpret_cast<uint4*>(y + at + u * kStride) = held[u];
      }
    } else if (((source | target) & 3) == 0) {
      done = bytes & ~3u;
      for (uint32_t at = rank * 4; at < done; at += kTeam * 4)
        *reinterpret_cast<uint32_t*>(y + at) = *reinterpret_cast<const uint32_t*>(x + at);
    }
    for (uint32_t at = done + rank; at < bytes; at += kTeam) y[at] = x[at];
  }
}

}  // namespace heddle::gpu
