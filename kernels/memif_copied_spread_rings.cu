#include "kernels/ring_kernel.cuh"
#include "kernels/ring_memif.cuh"
#include "kernels/rings.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

RingKernel memif_copied_spread_ring_kernel() { return ring_kernel<MemifRings<false>, true>(); }

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
