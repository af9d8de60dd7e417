#include "bench/experiments/experiments.h"

namespace heddle::gpu {

std::unique_ptr<Experiments> open_experiments(const std::string& device) {
  const int index = device_index(device);
  if (index == kSimt) return simt_backend::open_experiments(0);
#ifdef HEDDLE_HAVE_CUDA
  return cuda_backend::open_experiments(index);
#else
  return nullptr;  // device_index() has found no GPU
#endif
}

}  // namespace heddle::gpu
