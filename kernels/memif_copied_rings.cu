#include "kernels/check.h"
#include "kernels/ring_kernel.cuh"
#include "kernels/ring_memif.cuh"
#include "kernels/rings.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

RingKernel memif_copied_ring_kernel() {
  return {reinterpret_cast<const void*>(serve_rings<MemifRings<false>>),
          [](const cudaLaunchConfig_t& config, const RingServing& serving) {
            HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve_rings<MemifRings<false>>, serving));
          }};
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
