#include "gpu/device.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "gpu/fitness.h"
#include "gpu/functions.h"

namespace heddle::gpu {

std::vector<DeviceInfo> devices(std::string& reason) {
#ifdef HEDDLE_HAVE_CUDA
  return cuda_backend::devices(reason);
#else
  reason = "this heddle was built without CUDA; install the CUDA toolkit (nvcc) and build again";
  return {};
#endif
}

ComputeMode compute_mode([[maybe_unused]] const DeviceInfo& gpu) {
#ifdef HEDDLE_HAVE_CUDA
  return cuda_backend::compute_mode(parse_device_name(gpu.name).index);
#else
  return ComputeMode::shared;  // devices() has found no GPU
#endif
}

const char* kernel_architectures() {
#ifdef HEDDLE_HAVE_CUDA
  return HEDDLE_CUDA_ARCHITECTURES;
#else
  return "";
#endif
}

DeviceName parse_device_name(const std::string& name) {
  DeviceName result{name.starts_with("simt"), 0};
  const std::string_view digits = std::string_view(name).substr(std::min<size_t>(name.size(), result.simt ? 4 : 3));
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.index);
  const bool numbered = error == std::errc() && rest == digits.data() + digits.size() && result.index >= 0;
  if ((!result.simt && !name.starts_with("gpu")) || (!digits.empty() && !numbered))
    throw Error("device '" + name + "': expected cpu, gpu, gpu0, gpu1, ... or simt");
  return result;
}

DeviceName find_device(const std::string& name, const char* instead) {
  const DeviceName device = parse_device_name(name);
  if (device.simt) {
    if (device.index >= kSimtDevices)
      throw Error(format("device '%s': there are simt0 to simt%d", name.c_str(), kSimtDevices - 1));
    return device;
  }
  std::string reason;
  const auto found = devices(reason);
  if (found.empty()) throw Error("device '" + name + "': no GPU: " + reason + "; or " + instead);
  if (device.index >= static_cast<int>(found.size()))
    throw Error(format("device '%s': this machine has gpu0 to gpu%zu", name.c_str(), found.size() - 1));
  return device;
}

std::unique_ptr<Device> open_device(const std::string& name) {
  const DeviceName device = find_device(name);
  if (device.simt) return simt_backend::open(device.index);
#ifdef HEDDLE_HAVE_CUDA
  return cuda_backend::open(device.index);
#else
  return nullptr;  // find_device() has found no GPU
#endif
}

int function_id(std::string_view class_name) {
  const auto all = functions();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name == class_name) return static_cast<int>(i);
  return -1;
}

int ProgramSpec::warps() const {
  int most = copies.warps();
  for (const Node& node : nodes)
    if (node.function >= 0) most = std::max(most, functions()[static_cast<size_t>(node.function)].warps);
  return most;
}

}  // namespace heddle::gpu
