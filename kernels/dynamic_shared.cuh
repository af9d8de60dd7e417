#pragma once

#include <cuda_runtime.h>

namespace heddle::gpu {

/** The block's dynamic shared memory, as the launch has sized it. */
__device__ inline uint4* dynamic_shared() {
#ifdef HEDDLE_SIMT
  return static_cast<uint4*>(simt::dynamic_shared());
#else
  extern __shared__ uint4 heddle_dynamic_shared[];
  return heddle_dynamic_shared;
#endif
}

}  // namespace heddle::gpu
