#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "gpu/device.h"
#include "gpu/residency.h"
#include "kernels/backend.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

/** The DMA engines of NICs that this program plays: what gpu/device.h says of them. Each has a stream, and a kernel of
 *  one block for each transfer. */
class NicDma {
 public:
  NicDma();
  ~NicDma();
  DmaId add();
  /** Room for a block of each engine beside what is resident; none without engines. */
  std::vector<Residents> residents() const;
  void start(DmaId dma, const softnic::Transfer& transfer) const;

 private:
  int registers_;
  std::vector<cudaStream_t> streams_;
};

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
