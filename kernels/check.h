#pragma once

#include <cuda_runtime.h>

#include "core/error.h"

/** Throws Error with file, line, expression and CUDA's words when `call` fails. */
#define HEDDLE_CUDA_CHECK(call)                                                                                       \
  do {                                                                                                                \
    const cudaError_t heddle_error = (call);                                                                          \
    if (heddle_error != cudaSuccess)                                                                                  \
      throw ::heddle::Error(::heddle::format(                                                                         \
          "%s:%d: %s: %s (%s)%s", __FILE__, __LINE__, #call, cudaGetErrorString(heddle_error),                        \
          cudaGetErrorName(heddle_error),                                                                             \
          heddle_error == cudaErrorMemoryAllocation ? "; use smaller tables, fewer packets or another device" : "")); \
  } while (0)
