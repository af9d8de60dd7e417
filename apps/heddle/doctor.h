#pragma once

#include <string>
#include <vector>

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
 *  ("": of this machine). Calls no CUDA, so it works where CUDA does not. */
std::vector<Finding> examine_machine(const std::string& root);

/** The PCI addresses of NVIDIA's GPUs, as /sys names them, sorted; with or without a driver. */
std::vector<std::string> nvidia_gpus(const std::string& root);

}  // namespace heddle
