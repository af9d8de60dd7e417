#include "kernels/ring_kernel.cuh"
#include "kernels/ring_nic.cuh"
#include "kernels/rings.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

RingKernel nic_spread_ring_kernel() { return ring_kernel<NicRings, true>(); }

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
