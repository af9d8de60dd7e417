#include "kernels/check.h"
#include "kernels/ring_kernel.cuh"
#include "kernels/ring_nic.cuh"
#include "kernels/rings.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

RingKernel nic_ring_kernel() {
  return {reinterpret_cast<const void*>(serve_rings<NicRings>),
          [](const cudaLaunchConfig_t& config, const RingServing& serving) {
            HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve_rings<NicRings>, serving));
          }};
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
