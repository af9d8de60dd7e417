#include "measure/campaign/nvml.h"

#include <dlfcn.h>

#include <chrono>

namespace heddle::bench {
namespace {

constexpr std::chrono::milliseconds kInterval{20};

// From NVIDIA's NVML API reference; its header is not needed to build.
constexpr int kSuccess = 0;
enum ClockType { kClockSm = 1, kClockMemory = 2 };
struct Utilisation {
  unsigned gpu, memory;  // percent
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

/** The functions that are used; those that an old library lacks are null. */
struct Nvml::Library {
  void* handle = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_pci)(const char*, void**) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;             // mW
  int (*energy)(void*, unsigned long long*) = nullptr;  // mJ
  int (*utilisation)(void*, Utilisation*) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;  // MHz
  int (*largest_clock)(void*, int, unsigned*) = nullptr;

  template <class Function>
  void load(Function*& function, const char* symbol) {
    function = reinterpret_cast<Function*>(dlsym(handle, symbol));
  }

  explicit Library(const char* file) : handle(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) return;
    load(init, "nvmlInit_v2");
    load(shutdown, "nvmlShutdown");
    load(driver_version, "nvmlSystemGetDriverVersion");
    load(by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
    load(name, "nvmlDeviceGetName");
    load(power, "nvmlDeviceGetPowerUsage");
    load(energy, "nvmlDeviceGetTotalEnergyConsumption");
    load(utilisation, "nvmlDeviceGetUtilizationRates");
    load(clock, "nvmlDeviceGetClockInfo");
    load(largest_clock, "nvmlDeviceGetMaxClockInfo");
  }
  ~Library() {
    if (handle != nullptr) dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

std::unique_ptr<Nvml> Nvml::open(const std::string& pci, const char* library) {
  auto loaded = std::make_unique<Library>(library);
  if (loaded->init == nullptr || loaded->shutdown == nullptr || loaded->by_pci == nullptr) return nullptr;
  if (loaded->init() != kSuccess) return nullptr;
  std::unique_ptr<Nvml> nvml(new Nvml);
  nvml->library_ = std::move(loaded);
  return nvml->library_->by_pci(pci.c_str(), &nvml->device_) == kSuccess ? std::move(nvml) : nullptr;
}

Nvml::~Nvml() {
  if (library_) library_->shutdown();
}

GpuFacts Nvml::facts() const {
  GpuFacts facts;
  char text[96] = "";
  if (library_->name != nullptr && library_->name(device_, text, sizeof text) == kSuccess) facts.model = text;
  if (library_->driver_version != nullptr && library_->driver_version(text, sizeof text) == kSuccess)
    facts.driver = text;
  unsigned mhz = 0;
  const auto add = [&](const char* clock_name, auto* function, ClockType type) {
    if (function != nullptr && function(device_, type, &mhz) == kSuccess) facts.clocks[clock_name] = mhz;
  };
  add("gpu_sm_mhz", library_->clock, kClockSm);
  add("gpu_sm_max_mhz", library_->largest_clock, kClockSm);
  add("gpu_memory_mhz", library_->clock, kClockMemory);
  add("gpu_memory_max_mhz", library_->largest_clock, kClockMemory);
  return facts;
}

std::optional<double> Nvml::energy_j() const {
  unsigned long long millijoules = 0;
  if (library_->energy == nullptr || library_->energy(device_, &millijoules) != kSuccess) return {};
  return static_cast<double>(millijoules) * 1e-3;
}

std::optional<double> Nvml::power_w() const {
  unsigned milliwatts = 0;
  if (library_->power == nullptr || library_->power(device_, &milliwatts) != kSuccess) return {};
  return milliwatts * 1e-3;
}

std::optional<double> Nvml::utilisation() const {
  Utilisation now{};
  if (library_->utilisation == nullptr || library_->utilisation(device_, &now) != kSuccess) return {};
  return now.gpu * 0.01;
}

GpuMeter::GpuMeter(const Nvml& nvml)
    : nvml_(nvml), energy_before_(nvml.energy_j()), started_s_(seconds_now()), thread_(&GpuMeter::serve, this) {}

GpuMeter::~GpuMeter() {
  if (thread_.joinable()) stop();
}

void GpuMeter::serve() {
  while (!ending_) {
    if (const auto share = nvml_.utilisation()) utilisation_sum_ += *share, ++utilisation_count_;
    if (const auto watts = nvml_.power_w()) power_sum_ += *watts, ++power_count_;
    std::this_thread::sleep_for(kInterval);
  }
}

GpuMeter::Reading GpuMeter::stop() {
  const double seconds = seconds_now() - started_s_;
  const auto energy = nvml_.energy_j();
  ending_ = true;
  thread_.join();
  Reading reading;
  if (utilisation_count_ > 0) reading.utilisation = utilisation_sum_ / utilisation_count_;
  // Energy counts all of the time, power only the moments at which it was read.
  if (energy && energy_before_ && *energy > *energy_before_)
    reading.power_w = (*energy - *energy_before_) / seconds;
  else if (power_count_ > 0)
    reading.power_w = power_sum_ / power_count_;
  return reading;
}

}  // namespace heddle::bench
