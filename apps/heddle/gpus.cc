// `heddle gpus`: what --device can name, and what helps or hinders.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/heddle/commands.h"
#include "apps/heddle/doctor.h"
#include "gpu/device.h"

namespace heddle {

namespace {

constexpr const char* kStates[] = {"good", "note", "bad"};

nlohmann::json findings_json(const std::vector<Finding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (auto& finding : findings)
    list.push_back(
        {{"what", finding.what}, {"state", kStates[finding.state]}, {"is", finding.is}, {"remedy", finding.remedy}});
  return list;
}

}  // namespace

int show_gpus(bool json, const std::string& root) {
  std::string reason;
  const auto devices = gpu::devices(reason);
  const bool here = root.empty();  // CUDA knows of this machine alone
  auto findings = examine_machine(root, here && !devices.empty());
  if (here)
    for (auto& gpu : devices)
      for (Finding& finding : examine_gpu(gpu, gpu::kernel_architectures(), gpu::compute_mode(gpu)))
        findings.push_back(std::move(finding));
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (auto& gpu : devices)
      list.push_back({{"name", gpu.name},
                      {"model", gpu.model},
                      {"pci", gpu.pci},
                      {"compute_capability", std::to_string(gpu.major) + "." + std::to_string(gpu.minor)},
                      {"multiprocessors", gpu.multiprocessors},
                      {"memory_bytes", gpu.memory_bytes}});
    std::printf("%s\n", nlohmann::json{{"gpus", list}, {"reason", reason}, {"findings", findings_json(findings)}}
                            .dump(2, ' ', false, nlohmann::json::error_handler_t::replace)
                            .c_str());
    return 0;
  }
  for (auto& gpu : devices)
    std::printf("%-5s %s, compute capability %d.%d, %d multiprocessors, %.0f GB, PCI %s\n", gpu.name.c_str(),
                gpu.model.c_str(), gpu.major, gpu.minor, gpu.multiprocessors,
                static_cast<double>(gpu.memory_bytes) / 1e9, gpu.pci.c_str());
  if (devices.empty()) std::printf("no GPU: %s\n", reason.c_str());
  for (auto& finding : findings) {
    std::printf("  %-4s %s: %s\n", kStates[finding.state], finding.what.c_str(), finding.is.c_str());
    if (!finding.remedy.empty()) std::printf("       %s\n", finding.remedy.c_str());
  }
  return 0;
}

}  // namespace heddle
