#pragma once

#include <cuda_runtime.h>

#include <cstring>
#include <vector>

#include "kernels/backend.h"
#include "kernels/check.h"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {

/** Memory of one kind, taken in pieces and given back as a whole when no kernel runs any more. */
class Arena {
 public:
  enum Kind { kPinned, kDevice };
  explicit Arena(Kind kind) : kind_(kind) {}
  ~Arena() {
    for (void* piece : pieces_) kind_ == kPinned ? cudaFreeHost(piece) : cudaFree(piece);
  }
  /** Pinned memory is set to zero. Null for none. */
  template <class T>
  T* take(size_t count) {
    if (count == 0) return nullptr;
    void* piece = nullptr;
    const size_t bytes = count * sizeof(T);
    if (kind_ == kPinned) {
      HEDDLE_CUDA_CHECK(cudaHostAlloc(&piece, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
      std::memset(piece, 0, bytes);
    } else {
      HEDDLE_CUDA_CHECK(cudaMalloc(&piece, bytes));
    }
    pieces_.push_back(piece);
    return static_cast<T*>(piece);
  }

 private:
  Kind kind_;
  std::vector<void*> pieces_;
};

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
