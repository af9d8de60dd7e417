#pragma once

#include <cuda_runtime.h>

#include <cstddef>

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

/** A T in shared memory, where no constructor runs: whoever uses it fills it first. */
template <class T>
struct alignas(T) Uninitialized {
  std::byte bytes[sizeof(T)];
  __device__ T& value() { return reinterpret_cast<T&>(bytes); }
};

}  // namespace heddle::gpu
