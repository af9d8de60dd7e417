#pragma once

// Descriptors of a NIC, which it and the GPU read and write at the same time.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "io/softnic/ixgbe.h"
#include "kernels/wait.cuh"

namespace heddle::gpu {

/** A word that the other side may write, past the L1. */
__device__ inline uint32_t load_status(const uint32_t& word) {
  return SystemAtomic<uint32_t>(const_cast<uint32_t&>(word)).load(cuda::memory_order_relaxed);
}

/** A descriptor in one access of 16 bytes, past the L1. */
__device__ inline ixgbe::Descriptor load_descriptor(const ixgbe::Descriptor* from) {
  ixgbe::Descriptor what;
#ifdef HEDDLE_SIMT
  for (int i : {2, 3, 0, 1})
    what.word[i] = SystemAtomic<uint32_t>(const_cast<uint32_t&>(from->word[i])).load(cuda::memory_order_acquire);
#else
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(what.word[0]), "=r"(what.word[1]), "=r"(what.word[2]), "=r"(what.word[3])
               : "l"(from)
               : "memory");
#endif
  return what;
}

/** The same. What this thread has written before, and fenced, is there for whom sees it. */
__device__ inline void store_descriptor(ixgbe::Descriptor* to, const ixgbe::Descriptor& what) {
#ifdef HEDDLE_SIMT
  for (int i : {0, 1, 3, 2})  // the status of a received one last
    SystemAtomic<uint32_t>(to->word[i]).store(what.word[i], cuda::memory_order_release);
#else
  asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(what.word[0]), "r"(what.word[1]),
               "r"(what.word[2]), "r"(what.word[3])
               : "memory");
#endif
}

}  // namespace heddle::gpu
