#pragma once

#include <cuda_runtime.h>

#include <array>

#include "gpu/rings.h"
#include "kernels/backend.h"

namespace heddle::gpu {
struct RingServing;

namespace HEDDLE_GPU_BACKEND {

/** The kernel of kernels/ring_kernel.cuh for a kind of rings, with one block a pair, or several (spread). Each is in a
 *  file of its own so that it compiles beside the others. */
struct RingKernel {
  const void* address;
  void (*launch)(const cudaLaunchConfig_t& config, const RingServing& serving);
};
RingKernel memif_ring_kernel();
RingKernel memif_copied_ring_kernel();
RingKernel nic_ring_kernel();
RingKernel routed_ring_kernel();
RingKernel memif_spread_ring_kernel();
RingKernel memif_copied_spread_ring_kernel();
RingKernel nic_spread_ring_kernel();

/** Those of kernels/ring_split.cuh: to receive, for the application, to transmit. */
using SplitRingKernels = std::array<RingKernel, 3>;
SplitRingKernels memif_split_ring_kernels();
SplitRingKernels memif_copied_split_ring_kernels();
SplitRingKernels nic_split_ring_kernels();

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
