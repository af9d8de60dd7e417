#pragma once

#include <cuda_runtime.h>

#include "kernels/check.h"

namespace heddle::gpu {

constexpr int kOwnCarveout = -1;  ///< what the driver finds best for a kernel alone

/** How a multiprocessor's memory is divided into L1 and shared memory while blocks of `kernel` run there: so many per
 *  cent of what can be shared memory are. A multiprocessor that is not idle keeps its division, so blocks of a kernel
 *  that asks for more beside a resident one wait for ever (seen on an H100): those that are resident together ask for
 *  the same. */
inline void set_carveout(const void* kernel, int shared_percent) {
  HEDDLE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, shared_percent));
}

}  // namespace heddle::gpu
