#include "bench/experiments/experiments.h"

namespace heddle::gpu {

std::unique_ptr<Experiments> open_experiments(const std::string& device) {
  const DeviceName found = find_device(device);
  if (found.simt) return simt_backend::open_experiments(found.index);
#ifdef HEDDLE_HAVE_CUDA
  return cuda_backend::open_experiments(found.index);
#else
  return nullptr;  // find_device() has found no GPU
#endif
}

}  // namespace heddle::gpu
