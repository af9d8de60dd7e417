// What `heddle gpus` says of a machine beside its list: what works, what does not, and what to do.

#include "apps/heddle/doctor.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

// The first line of a file; "" if there is none.
std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The PCI addresses of NVIDIA's GPUs, as /sys names them, sorted; with or without a driver.
std::vector<std::string> nvidia_gpus(const std::string& root) {
  std::vector<std::string> list;
  std::error_code none;
  for (auto& entry : fs::directory_iterator(root + "/sys/bus/pci/devices", none)) {
    // Class 0x0300: VGA, 0x0302: 3D controller.
    const std::string kind = line_of(entry.path() / "class");
    if (line_of(entry.path() / "vendor") == "0x10de" && kind.starts_with("0x03"))
      list.push_back(entry.path().filename());
  }
  std::sort(list.begin(), list.end());
  return list;
}

bool has_module(const std::string& root, const std::string& name) {
  std::ifstream file(root + "/proc/modules");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + " ")) return true;
  return false;
}

Finding driver(const std::string& root) {
  const std::string version = line_of(root + "/proc/driver/nvidia/version");
  if (version.empty())
    return {Finding::bad, "driver", "no NVIDIA driver is loaded",
            "install NVIDIA's driver, 580 or newer for CUDA 13, and load it with 'modprobe nvidia'"};
  return {Finding::good, "driver", version, ""};
}

// The driver's device files: without them CUDA finds no device, and says nothing of the reason.
Finding device_files(const std::string& root) {
  const std::string control = root + "/dev/nvidiactl";
  if (!fs::exists(control))
    return {Finding::bad, "device files", control + " is missing",
            "run 'nvidia-modprobe -u', or nvidia-smi once as root"};
  if (access(control.c_str(), R_OK | W_OK) != 0)
    return {Finding::bad, "device files", control + " may not be opened by this user",
            "join the group that owns it, or run as root"};
  return {Finding::good, "device files", "may be opened", ""};
}

Finding library(const char* what, std::initializer_list<const char*> names, const std::string& without,
                const std::string& remedy) {
  for (const char* name : names)
    // It stays open: what its constructors have allocated would be lost.
    if (dlopen(name, RTLD_LAZY | RTLD_LOCAL) != nullptr)
      return {Finding::good, what, std::string(name) + " is there", ""};
  return {Finding::note, what, without, remedy};
}

// "32.0 GT/s PCIe" and "16" as a number that says how much goes through.
double capacity(const std::string& speed, const std::string& width) {
  return std::strtod(speed.c_str(), nullptr) * std::strtod(width.c_str(), nullptr);
}

Finding pcie_link(const fs::path& device, const std::string& name) {
  const std::string what = name + " PCIe link", speed = line_of(device / "current_link_speed"),
                    width = line_of(device / "current_link_width"), most_speed = line_of(device / "max_link_speed"),
                    most_width = line_of(device / "max_link_width");
  if (speed.empty() || width.empty()) return {Finding::note, what, "not shown by the kernel (a virtual machine?)", ""};
  const std::string is = speed + " x" + width;
  if (most_speed.empty() || most_width.empty())
    return {Finding::note, what, is + "; the kernel does not show what the GPU could have", ""};
  if (width != most_width)
    return {Finding::bad, what, is + ", the GPU has x" + most_width,
            "put it into a slot with all lanes; every transport is bound by this link"};
  if (capacity(speed, width) < capacity(most_speed, most_width))
    return {Finding::note, what, is + ", the GPU has " + most_speed,
            "idle GPUs lower it; look again under load, and at the slot's generation if it stays"};
  return {Finding::good, what, is, ""};
}

// NVIDIA's BAR 1 is the window through which others reach GPU memory: the second region that is there, which PCI counts
// as its BAR 2 where the one before has 64 bits. A line of `resource`: start, end, flags; zeros if there is no region.
Finding bar(const fs::path& device, const std::string& name) {
  std::ifstream file(device / "resource");
  uint64_t start = 0, end = 0;
  constexpr int kBars = 6;
  int regions = 0;
  std::string line;
  for (int i = 0; i < kBars && regions < 2 && std::getline(file, line); ++i) {
    start = end = 0;
    std::istringstream(line) >> std::hex >> start >> end;
    if (start < end) ++regions;
  }
  if (regions < 2) start = end = 0;
  const std::string what = name + " BAR 1";
  if (end <= start) return {Finding::note, what, "not shown by the kernel", ""};
  const double megabytes = static_cast<double>(end - start + 1) / (1 << 20);
  if (megabytes <= 256)
    return {
        Finding::note, what, format("%.0f MB", megabytes),
        "enough for Heddle, whose rings lie in host memory; NICs that write to GPU memory want resizable BAR in the "
        "firmware's setup"};
  return {Finding::good, what, format("%.0f MB", megabytes), ""};
}

Finding gpudirect(const std::string& root) {
  if (has_module(root, "nvidia_peermem")) return {Finding::good, "GPUDirect RDMA", "nvidia_peermem is loaded", ""};
  return {Finding::note, "GPUDirect RDMA", "nvidia_peermem is not loaded: NICs cannot write to GPU memory",
          "Heddle does not need it: packets lie in host memory; docs/gpu-io.md says what would use it"};
}

enum class Kernels { none, translated, made };

// Machine code runs on compute capabilities of the same major number from its own on, PTX on all from its own on.
// CMake's words: "90" is both, "90-real" machine code, "90-virtual" PTX; what ends in a letter ("90a") is for that one
// alone.
Kernels kernels_for(std::string_view architectures, int major, int minor) {
  Kernels best = Kernels::none;
  std::istringstream words{std::string(architectures)};
  for (std::string word; std::getline(words, word, ',');) {
    size_t digits = 0;
    while (digits < word.size() && std::isdigit(static_cast<unsigned char>(word[digits])) != 0) ++digits;
    if (digits == 0) return Kernels::made;  // "native", "all": CMake has chosen
    const int number = std::stoi(word.substr(0, digits)), here = 10 * major + minor;
    const bool alone = digits < word.size() && std::isalpha(static_cast<unsigned char>(word[digits])) != 0;
    const std::string kind = word.substr(std::min(word.find('-'), word.size()));
    if (alone && number != here) continue;
    if (kind != "-virtual" && number / 10 == major && number <= here) best = Kernels::made;
    if (kind != "-real" && number <= here) best = std::max(best, Kernels::translated);
  }
  return best;
}

Finding compute_capability(const gpu::DeviceInfo& gpu, std::string_view architectures) {
  const std::string what = gpu.name + " compute capability", is = format("%d.%d", gpu.major, gpu.minor),
                    made_for = ", the kernels are for " + std::string(architectures);
  switch (kernels_for(architectures, gpu.major, gpu.minor)) {
    case Kernels::made:
      return {Finding::good, what, is + made_for, ""};
    case Kernels::translated:
      return {Finding::note, what, is + made_for + ": the driver translates them at the first start",
              format("to spare that time, build with CUDAARCHS=%d%d", gpu.major, gpu.minor)};
    case Kernels::none:
      break;
  }
  return {Finding::bad, what, is + made_for + ": none runs on it",
          format("build with CUDAARCHS=%d%d, if CUDA still knows it; or run with --device cpu", gpu.major, gpu.minor)};
}

Finding compute_mode_of(const gpu::DeviceInfo& gpu, gpu::ComputeMode mode) {
  const std::string what = gpu.name + " compute mode", remedy = "set it with 'nvidia-smi -c DEFAULT' as root";
  switch (mode) {
    case gpu::ComputeMode::prohibited:
      return {Finding::bad, what, "prohibited: no process may use it", remedy};
    case gpu::ComputeMode::exclusive:
      return {Finding::note, what, "exclusive: one process at a time, others find it busy",
              "end what uses it (nvidia-smi lists that) before a run, or " + remedy};
    case gpu::ComputeMode::shared:
      break;
  }
  return {Finding::good, what, "default: processes share it", ""};
}

}  // namespace

std::vector<Finding> examine_gpu(const gpu::DeviceInfo& gpu, std::string_view architectures, gpu::ComputeMode mode) {
  return {compute_capability(gpu, architectures), compute_mode_of(gpu, mode)};
}

std::vector<Finding> examine_machine(const std::string& root, bool cuda_works) {
  const auto gpus = nvidia_gpus(root);
  const bool hidden = gpus.empty();
  if (hidden && !cuda_works)
    return {{Finding::bad, "GPU", "no NVIDIA GPU is on the PCI bus",
             "chains run on the CPU; a virtual machine must be given the GPU by its host"}};
  std::vector<Finding> list;
  if (hidden)
    list.push_back({Finding::note, "PCI bus", "shows no NVIDIA GPU, though CUDA finds one (a container?)",
                    "for its PCIe link, BAR and NUMA node run 'heddle gpus' on the host"});
  // What CUDA disproves is hidden as well.
  const auto add = [&](const Finding& finding) {
    if (finding.state == Finding::good || !hidden) list.push_back(finding);
  };
  const Finding loaded = driver(root);
  add(loaded);
  if (hidden || loaded.state == Finding::good) add(device_files(root));
  for (auto& name : gpus) {
    const fs::path device = root + "/sys/bus/pci/devices/" + name;
    list.push_back(pcie_link(device, name));
    list.push_back(bar(device, name));
    if (const std::string node = line_of(device / "numa_node"); !node.empty() && node != "-1")
      list.push_back({Finding::note, name + " NUMA node", node,
                      "packet threads on cores of this node are fastest (--dpdk \"-l CORES\")"});
  }
  list.push_back(gpudirect(root));
  list.push_back(library("NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"},
                         "not found: kernels cannot be compiled at start",
                         "Heddle does not need it yet; it comes with the CUDA toolkit"));
  return list;
}

}  // namespace heddle
