#include "bench/experiments/experiments.h"

#include "bench/experiments/transfers.h"

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

std::unique_ptr<Transfers> open_transfers(const std::string& device) {
  const DeviceName found = find_device(device);
  if (found.simt) return simt_backend::open_transfers(found.index);
#ifdef HEDDLE_HAVE_CUDA
  return cuda_backend::open_transfers(found.index);
#else
  return nullptr;
#endif
}

}  // namespace heddle::gpu
