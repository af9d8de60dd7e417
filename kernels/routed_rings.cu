#include "kernels/ring_routed.cuh"
#include "kernels/rings.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

RingKernel routed_ring_kernel() {
  return {reinterpret_cast<const void*>(serve_routed_rings),
          [](const cudaLaunchConfig_t& config, const RingServing& serving) {
            HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve_routed_rings, serving));
          }};
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
