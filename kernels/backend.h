#pragma once

/** The namespace of what is compiled twice, by nvcc for GPUs and by the host compiler against simt/. Host code that
 * calls the CUDA runtime must lie in it, or in an anonymous one: of two inline functions with one name the linker keeps
 * one, and a GPU's memory would be given back to simt. */
#ifdef HEDDLE_SIMT
#define HEDDLE_GPU_BACKEND simt_backend
#elif defined(HEDDLE_MIRROR_ALONE)  // of functions EtherMirror alone, for a benchmark
#define HEDDLE_GPU_BACKEND mirror_alone_backend
#else
#define HEDDLE_GPU_BACKEND cuda_backend
#endif
