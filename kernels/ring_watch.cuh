#pragma once

// What the rings of every kind have in common for the kernel that drives them (kernels/ring_kernel.cuh).

#include "gpu/rings.h"
#include "kernels/ring_words.cuh"

namespace heddle::gpu {

constexpr unsigned kRingPolls = 64;  ///< empty polls before the scout dozes, for longer and longer
constexpr unsigned kRingFirstDozeNs = 500, kRingLastDozeNs = 8000;

/** A received packet, as its descriptor says, checked. */
struct RingArrival {
  bool is_right = true;  // what the descriptor says can be
  bool goes_on = false;
  uint32_t buffer = 0;  // owner: where its buffer begins
  uint8_t* frame = nullptr;
  uint32_t length = 0;
};

/** What the scout has seen of the rings, and how far it is. In shared memory: in between, registers are the
 *  program's. */
class RingWatch {
 public:
  /** Waits a little when nothing has come for long. A whole warp calls it. */
  __device__ void doze() {
    unsigned times = 0;
    if (threadIdx.x % kLanes == 0) times = idle++;
    times = __shfl_sync(~0u, times, 0);
    if (times >= kRingPolls) __nanosleep(min(kRingFirstDozeNs << min(times - kRingPolls, 8u), kRingLastDozeNs));
    __syncwarp();
  }
  __device__ uint32_t received() const { return received_; }  ///< packets before it have arrived
  __device__ uint32_t limit() const { return limit_; }  ///< places before it on the transmitting ring may be filled

  uint32_t fault;  ///< RingFault
  unsigned idle;   ///< looks since something came: lane 0's alone
  uint32_t end;    ///< packets before it have been taken, or are in tiles (where one kernel does all)

 protected:
  /** One thread calls it. */
  __device__ void start(uint32_t received, uint32_t limit) {
    received_ = received, limit_ = limit;
    fault = kNoFault, idle = 0;
  }
  /** Takes up what a warp has seen. */
  __device__ void see(uint32_t received, uint32_t limit) {
    if (received != received_ || limit != limit_) acquire_from_system();
    __syncwarp();
    if (threadIdx.x % kLanes == 0) received_ = received, limit_ = limit;
    __syncwarp();
  }

  uint32_t received_, limit_;
};

}  // namespace heddle::gpu
