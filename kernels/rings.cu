#include "kernels/check.h"
#include "kernels/ring_kernel.cuh"
#include "kernels/rings.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

const void* ring_kernel() { return reinterpret_cast<const void*>(serve_rings); }

void launch_ring_kernel(const cudaLaunchConfig_t& config, const RingServing& serving) {
  HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve_rings, serving));
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
