#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "measure/campaign/machine.h"

namespace heddle::bench {

/** What NVIDIA's management library says of one GPU. The library is loaded when it is there; it is not needed. */
class Nvml {
 public:
  /** Of the GPU at PCI address `pci`. Null if the library, or the GPU in it, is not there. */
  static std::unique_ptr<Nvml> open(const std::string& pci, const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  GpuFacts facts() const;
  std::optional<double> energy_j() const;     ///< used since the driver was loaded
  std::optional<double> power_w() const;      ///< now
  std::optional<double> utilisation() const;  ///< share of the time in which a kernel ran, of the last sample

 private:
  struct Library;
  Nvml() = default;
  std::unique_ptr<Library> library_;
  void* device_ = nullptr;
};

/** Watches a GPU for the time of a trial. */
class GpuMeter {
 public:
  explicit GpuMeter(const Nvml& nvml);
  ~GpuMeter();

  struct Reading {
    std::optional<double> utilisation, power_w;  ///< means
  };
  /** Ends the watch. */
  Reading stop();

 private:
  void serve();

  const Nvml& nvml_;
  std::optional<double> energy_before_;
  double started_s_;
  double utilisation_sum_ = 0, power_sum_ = 0;
  int utilisation_count_ = 0, power_count_ = 0;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace heddle::bench
