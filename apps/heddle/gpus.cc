// `heddle gpus`: what --device can name.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/heddle/commands.h"
#include "gpu/device.h"

namespace heddle {

int show_gpus(bool json) {
  std::string reason;
  const auto devices = gpu::devices(reason);
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (auto& gpu : devices)
      list.push_back({{"name", gpu.name},
                      {"model", gpu.model},
                      {"pci", gpu.pci},
                      {"compute_capability", std::to_string(gpu.major) + "." + std::to_string(gpu.minor)},
                      {"multiprocessors", gpu.multiprocessors},
                      {"memory_bytes", gpu.memory_bytes}});
    std::printf("%s\n", nlohmann::json{{"gpus", list}, {"reason", reason}}.dump(2).c_str());
    return 0;
  }
  for (auto& gpu : devices)
    std::printf("%-5s %s, compute capability %d.%d, %d multiprocessors, %.0f GB, PCI %s\n", gpu.name.c_str(),
                gpu.model.c_str(), gpu.major, gpu.minor, gpu.multiprocessors,
                static_cast<double>(gpu.memory_bytes) / 1e9, gpu.pci.c_str());
  if (devices.empty()) std::printf("no GPU: %s\n", reason.c_str());
  return 0;
}

}  // namespace heddle
