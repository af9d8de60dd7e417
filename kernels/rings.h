#pragma once

#include <cuda_runtime.h>

#include "gpu/rings.h"
#include "kernels/backend.h"

namespace heddle::gpu {
struct RingServing;

namespace HEDDLE_GPU_BACKEND {

/** The kernel of kernels/ring_kernel.cuh, in a file of its own so that it compiles beside the others. */
const void* ring_kernel();
void launch_ring_kernel(const cudaLaunchConfig_t& config, const RingServing& serving);

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
