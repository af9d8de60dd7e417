// NVIDIA's management library as measure/campaign/nvml.cc sees it, for machines without one: a GPU at 0000:01:00.0
// whose clock is this process's: it takes 250 W.

#include <string.h>
#include <time.h>

static unsigned long long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
}

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return strncpy(text, "580.1", length), 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  *device = (void*)1;
  return strcmp(pci, "0000:01:00.0") == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}
int nvmlDeviceGetName(void* device, char* text, unsigned length) {
  return (void)device, strncpy(text, "Fake GPU", length), 0;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) { return (void)device, *milliwatts = 200000, 0; }
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  return (void)device, *millijoules = milliseconds() * 250, 0;
}
int nvmlDeviceGetUtilizationRates(void* device, unsigned rates[2]) {
  return (void)device, rates[0] = 80, rates[1] = 5, 0;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  return (void)device, *mhz = type == 1 ? 1980 : 2619, 0;
}
