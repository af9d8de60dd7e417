#include "gpu/device.h"

#include <charconv>

#include "core/error.h"

namespace heddle::gpu {

std::vector<DeviceInfo> devices(std::string& reason) {
#ifdef HEDDLE_HAVE_CUDA
  return cuda_backend::devices(reason);
#else
  reason = "this heddle was built without CUDA; install the CUDA toolkit (nvcc) and build again";
  return {};
#endif
}

int device_index(const std::string& name) {
  if (name == "simt") return kSimt;
  int index = 0;
  const char* const end = name.data() + name.size();
  const bool named = name.starts_with("gpu");
  if (named && name.size() > 3) {
    const auto [rest, error] = std::from_chars(name.data() + 3, end, index);
    if (error != std::errc() || rest != end) index = -1;
  }
  if (!named || index < 0) throw Error("device '" + name + "': expected cpu, gpu, gpu0, gpu1, ... or simt");
  std::string reason;
  const auto found = devices(reason);
  if (found.empty()) throw Error("device '" + name + "': no GPU: " + reason + "; or run with --device cpu");
  if (index >= static_cast<int>(found.size()))
    throw Error(format("device '%s': this machine has gpu0 to gpu%zu", name.c_str(), found.size() - 1));
  return index;
}

std::unique_ptr<Device> open_device(const std::string& name) {
  const int index = device_index(name);
  if (index == kSimt) return simt_backend::open(0);
#ifdef HEDDLE_HAVE_CUDA
  return cuda_backend::open(index);
#else
  return nullptr;  // device_index() has found no GPU
#endif
}

}  // namespace heddle::gpu
