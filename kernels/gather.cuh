#pragma once

// Transports gather and landing: copies packets to their twins in GPU memory, and back.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "gpu/block.cuh"
#include "gpu/transport.h"
#include "kernels/gate.h"
#include "kernels/wait.cuh"

namespace heddle::gpu {

/** Where packets and their twins lie. */
struct PacketPlaces {
  uint8_t* packets;  ///< base of the packet memory, pinned
  uint8_t* twins;    ///< base of the twins, device memory; null if no program gathers
  Gate* gate;
};

/** The 16-byte pieces of a tile's ranges, laid end to end for the threads of a block to copy: long ranges by whole
 *  128-byte lines, so that a warp's accesses fall on whole lines. Shared memory. */
struct TileCopy {
  static constexpr uint32_t kLine = 128;
  Range range[kSlotPackets];
  ptrdiff_t distance[kSlotPackets];   ///< from a range to where it is copied to, bytes
  uint32_t before[kSlotPackets + 1];  ///< [i]: pieces, with those that a line lacks, of the ranges before the i-th

  static __device__ uintptr_t grid_start(const Range& range) {
    return range.first & ~uintptr_t{(range.bytes() > kLine ? kLine : Copies::kPiece) - 1};
  }

  /** The lanes of warp 0 bring their packets' ranges and how far these are from where they are copied to; the whole
   *  block calls it. In place for all threads on return. */
  __device__ void lay_out(const Block& block, const Range& mine, ptrdiff_t far) {
    if (block.thread < kLanes) {
      range[block.thread] = mine;
      distance[block.thread] = far;
      const uint32_t unit = mine.bytes() > kLine ? kLine : Copies::kPiece;
      const auto bytes = static_cast<uint32_t>(mine.last - grid_start(mine));
      if (block.thread == 0) before[0] = 0;
      before[block.thread + 1] =
          Group<kLanes>(block).inclusive_sum((bytes + unit - 1) / unit * (unit / Copies::kPiece));
    }
    block.sync();
  }

  /** Copies all ranges. The whole block calls it; in place after the next sync. */
  __device__ void copy(const Block& block) const {
    constexpr int kAhead = 8;  // pieces that a thread has in flight
    const uint32_t total = before[kSlotPackets];
    int i = 0;  // whose piece it is; pieces only move forward
    for (auto base = static_cast<uint32_t>(block.thread); base < total;
         base += static_cast<uint32_t>(kAhead * block.threads)) {
      uint4 bytes[kAhead];
      uint4* to[kAhead];
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        const uint32_t piece = base + static_cast<uint32_t>(u * block.threads);
        to[u] = nullptr;
        if (piece >= total) continue;
        while (piece >= before[i + 1]) ++i;
        const uintptr_t from = grid_start(range[i]) + uintptr_t{Copies::kPiece} * (piece - before[i]);
        if (from < range[i].first || from >= range[i].last) continue;
        bytes[u] = *reinterpret_cast<const uint4*>(from);
        to[u] = reinterpret_cast<uint4*>(from + static_cast<uintptr_t>(distance[i]));
      }
#pragma unroll
      for (int u = 0; u < kAhead; ++u)
        if (to[u] != nullptr) *to[u] = bytes[u];
    }
  }

  /** Before copy() from host memory: waits until the gate lets the tile in. The whole block calls it. */
  __device__ void enter(const Block& block, Gate& gate) const {
    if (block.thread == 0) enter(gate, bytes());
    block.sync();
  }
  /** And behind it. In place for all threads on return. */
  __device__ void leave(const Block& block, Gate& gate) const {
    block.sync();
    if (block.thread == 0) leave(gate, bytes());
  }

 private:
  __device__ unsigned long long bytes() const { return uint64_t{before[kSlotPackets]} * Copies::kPiece; }
  static __device__ void enter(Gate& gate, unsigned long long bytes) {
    const DeviceAtomic<unsigned long long> done(gate.done), limit(gate.limit);
    const unsigned long long mine =
        DeviceAtomic<unsigned long long>(gate.taken).fetch_add(bytes, cuda::memory_order_relaxed);
    // Later tiles may be done before this one: the difference may be negative.
    const auto is_full = [&] {
      return static_cast<long long>(mine - done.load(cuda::memory_order_relaxed)) >
             static_cast<long long>(limit.load(cuda::memory_order_relaxed));
    };
    if (!is_full()) return;
    DeviceAtomic<uint32_t>(gate.waited).store(1, cuda::memory_order_relaxed);
    do __nanosleep(200);
    while (is_full());
  }

  static __device__ void leave(Gate& gate, unsigned long long bytes) {
    const unsigned long long before =
        DeviceAtomic<unsigned long long>(gate.done).fetch_add(bytes, cuda::memory_order_relaxed);
    if ((before ^ (before + bytes)) >> Gate::kIntervalBits != 0) end_interval(gate);
  }

  static __device__ __noinline__ void end_interval(Gate& gate) {
    const DeviceAtomic<uint32_t> searching(gate.searching);
    if (searching.exchange(1, cuda::memory_order_acquire) != 0) return;
    gate.search.end_interval(nanoseconds(),
                             DeviceAtomic<uint32_t>(gate.waited).exchange(0, cuda::memory_order_relaxed) != 0);
    DeviceAtomic<unsigned long long>(gate.limit).store(gate.search.limit, cuda::memory_order_relaxed);
    searching.store(0, cuda::memory_order_release);
  }
};

}  // namespace heddle::gpu
