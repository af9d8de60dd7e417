#include "kernels/ring_kernel.cuh"
#include "kernels/ring_memif.cuh"
#include "kernels/rings.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

RingKernel memif_ring_kernel() { return ring_kernel<MemifRings<true>, false>(); }

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
