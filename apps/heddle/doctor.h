#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/fitness.h"

namespace heddle {

/** Something that decides what a machine's GPUs can be used for. */
struct Finding {
  enum State { good, note, bad };
  State state;
  std::string what;    ///< "driver", "0000:3b:00.0 PCIe link", ...
  std::string is;      ///< how it is
  std::string remedy;  ///< what to do if that is not wanted; "" if there is nothing to say
};

/** Looks at driver, PCIe link, BAR and kernel modules, as the kernel shows them in /proc, /sys and /dev below `root`
 *  ("": of this machine). Calls no CUDA, so it works where CUDA does not. `cuda_works`: CUDA finds a GPU, so what is
 *  not shown is hidden, as containers hide the PCI bus. */
std::vector<Finding> examine_machine(const std::string& root, bool cuda_works);

/** Whether kernels for `architectures` (gpu::kernel_architectures) run on a GPU that CUDA has found, and whether its
 *  mode lets this program in. */
std::vector<Finding> examine_gpu(const gpu::DeviceInfo& gpu, std::string_view architectures, gpu::ComputeMode mode);

}  // namespace heddle
