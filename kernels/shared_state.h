#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "io/memif/channel.h"
#include "kernels/backend.h"
#ifdef HEDDLE_SIMT
#include "io/memif/region.h"
#endif

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {

/** Device memory that several programs have, each by the same file. It is freed when the last one has let it go. */
class SharedState {
 public:
  /** New memory, not set. Throws Error. */
  SharedState(int device, size_t bytes);
  /** What `file` is of, which must have as many bytes. Throws Error. */
  SharedState(int device, memif::File file, size_t bytes);
#ifdef HEDDLE_SIMT
  std::byte* base() const { return region_.base(); }
  int file() const { return region_.file(); }

 private:
  memif::Region region_;
#else
  SharedState(SharedState&& other) noexcept
      : file_(std::move(other.file_)), base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_) {}
  ~SharedState();
  std::byte* base() const { return base_; }
  int file() const { return file_.get(); }

 private:
  void map(int device, unsigned long long handle);

  memif::File file_;
  std::byte* base_ = nullptr;
  size_t bytes_;  // whole granules
#endif
};

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
