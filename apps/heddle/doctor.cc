// What `heddle gpus` says of a machine beside its list: what works, what does not, and what to do.

#include "apps/heddle/doctor.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
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
    if (void* found = dlopen(name, RTLD_LAZY | RTLD_LOCAL); found != nullptr) {
      dlclose(found);
      return {Finding::good, what, std::string(name) + " is there", ""};
    }
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
  if (width != most_width)
    return {Finding::bad, what, is + ", the GPU has x" + most_width,
            "put it into a slot with all lanes; every transport is bound by this link"};
  if (capacity(speed, width) < capacity(most_speed, most_width))
    return {Finding::note, what, is + ", the GPU has " + most_speed,
            "idle GPUs lower it; look again under load, and at the slot's generation if it stays"};
  return {Finding::good, what, is, ""};
}

// BAR 1 is the window through which others reach GPU memory. Line 2 of `resource`: start, end, flags.
Finding bar(const fs::path& device, const std::string& name) {
  std::ifstream file(device / "resource");
  std::string line;
  for (int i = 0; i < 2; ++i) std::getline(file, line);
  std::istringstream words(line);
  uint64_t start = 0, end = 0;
  words >> std::hex >> start >> end;
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

}  // namespace

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

std::vector<Finding> examine_machine(const std::string& root) {
  const auto gpus = nvidia_gpus(root);
  if (gpus.empty())
    return {{Finding::bad, "GPU", "no NVIDIA GPU is on the PCI bus",
             "chains run on the CPU; a virtual machine must be given the GPU by its host"}};
  std::vector<Finding> list{driver(root)};
  if (list.back().state == Finding::good) list.push_back(device_files(root));
  for (auto& name : gpus) {
    const fs::path device = root + "/sys/bus/pci/devices/" + name;
    list.push_back(pcie_link(device, name));
    list.push_back(bar(device, name));
    if (const std::string node = line_of(device / "numa_node"); !node.empty() && node != "-1")
      list.push_back(
          {Finding::note, name + " NUMA node", node, "packet threads on cores of this node are fastest (-l)"});
  }
  list.push_back(gpudirect(root));
  list.push_back(library("NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"},
                         "not found: kernels cannot be compiled at start",
                         "Heddle does not need it yet; it comes with the CUDA toolkit"));
  return list;
}

}  // namespace heddle
