#include "kernels/ring_memif.cuh"
#include "kernels/ring_nic.cuh"
#include "kernels/ring_split.cuh"
#include "kernels/rings.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

SplitRingKernels memif_split_ring_kernels() { return split_ring_kernels<MemifRings<true, false>, MemifRings<true>>(); }
SplitRingKernels memif_copied_split_ring_kernels() {
  return split_ring_kernels<MemifRings<false, false>, MemifRings<false>>();
}
SplitRingKernels nic_split_ring_kernels() { return split_ring_kernels<NicRings, NicRings>(); }

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
