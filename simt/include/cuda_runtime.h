#pragma once

/** CUDA on this CPU, a test tool. With `-I simt/include` a plain C++20 compiler builds the same `.cu` sources that nvcc
 *  builds for a GPU, so that kernels run under the sanitizers without a GPU.
 *
 *  - A block runs on one OS thread; its threads are fibers of that OS thread (see fibers.h). `__shared__` memory is
 *    therefore `static thread_local`; it keeps what an earlier block left, as on a GPU. `extern __shared__` (dynamic
 *    shared memory) does not compile: heddle::simt::dynamic_shared() gives it.
 *  - Up to 64 blocks of a grid are co-resident; the blocks of a larger grid take turns on a few OS threads. A device
 *    thread has a stack of 64 KiB (256 KiB under a sanitizer).
 *  - Launches go through cudaLaunchKernelEx; the triple-chevron syntax is no C++.
 *  - Calls that would wait behind a resident kernel on a GPU, and divergence that would hang or be undefined there, end
 *    the program with a message that starts with "simt:". For the former, kernels count as resident that have not ended
 *    after HEDDLE_SIMT_RESIDENT_MS (from the environment; 30000, for a machine may be busy with other things).
 *  - ThreadSanitizer takes each device thread for a thread, so it finds races within a block; it bears some 8000 at
 *    once.
 *  - Everything lives in the inline namespace simt_cuda and has C++ linkage, so that it links beside the real cudart.
 */

// libstdc++ spells an attribute __noinline__ in <memory>: read it before the macro below exists.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

/** Set where the sources are compiled against this runtime. */
#define HEDDLE_SIMT 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))

#include "simt_cuda/api.h"
#include "simt_cuda/bits.h"
#include "simt_cuda/memory.h"
#include "simt_cuda/warp.h"
