#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "gpu/device.h"
#include "gpu/residency.h"
#include "kernels/arena.h"
#include "kernels/backend.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

/** The DMA engines of NICs that this program plays: what gpu/device.h says of them. Each has a stream, and a kernel for
 *  each transfer. */
class NicDma {
 public:
  NicDma();
  ~NicDma();
  DmaId add();
  size_t streams() const { return streams_.size(); }
  /** Room for a block of each engine beside what is resident; none without engines. */
  std::vector<Residents> residents() const;
  /** Where a large block finds no room: several small ones do a transfer, beside each other or in turn. */
  void use_small_blocks();
  void start(DmaId dma, const softnic::Transfer& transfer) const;

 private:
  int registers_, block_threads_;
  Arena memory_;
  std::vector<uint32_t*> ended_;  // by engine: blocks of its transfer that are done; device memory
  std::vector<cudaStream_t> streams_;
};

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
