#pragma once

#include <cuda_runtime.h>

#include "kernels/check.h"

namespace heddle::gpu {

/** How a multiprocessor's memory is divided into L1 and shared memory while blocks of `kernel` run there: as the driver
 *  finds best for this kernel, or, `beside_others`, with as much shared memory as there can be. A multiprocessor that
 *  is not idle keeps its division, and blocks for which that has too little shared memory wait: beside a resident
 *  kernel for ever. On an H100 no preference but the most lets kernels of other needs reside together in every case;
 *  docs/results.md has what was tried, and what the least of L1 costs. */
inline void set_carveout(const void* kernel, bool beside_others) {
  HEDDLE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                           beside_others ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutDefault));
}

}  // namespace heddle::gpu
