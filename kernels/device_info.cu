#include <cstdlib>

#include "core/error.h"
#include "gpu/fitness.h"
#include "kernels/check.h"
#include "kernels/device_info.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

DeviceInfo describe(int index, const cudaDeviceProp& properties) {
  DeviceInfo info;
#ifdef HEDDLE_SIMT
  info.name = format("simt%d", index);
#else
  info.name = format("gpu%d", index);
#endif
  info.model = properties.name;
  info.pci = format("%04x:%02x:%02x.0", static_cast<unsigned>(properties.pciDomainID),
                    static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
  info.multiprocessors = properties.multiProcessorCount;
  info.major = properties.major;
  info.minor = properties.minor;
  info.memory_bytes = properties.totalGlobalMem;
  return info;
}

#ifndef HEDDLE_SIMT
std::vector<DeviceInfo> devices(std::string& reason) {
  // Streams that share one of the hardware's queues wait for each other, and what is resident is waited for without
  // end. As many queues as there can be, before CUDA begins; who has chosen otherwise keeps that.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  std::vector<DeviceInfo> list;
  if (error != cudaSuccess) {
    reason = format("%s (%s); is an NVIDIA driver for CUDA 13 installed and the GPU visible to nvidia-smi?",
                    cudaGetErrorString(error), cudaGetErrorName(error));
    return list;
  }
  if (count == 0) reason = "the driver shows no device; see nvidia-smi";
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    HEDDLE_CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
    list.push_back(describe(i, properties));
  }
  return list;
}

ComputeMode compute_mode(int index) {
  int mode = cudaComputeModeDefault;
  HEDDLE_CUDA_CHECK(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, index));
  if (mode == cudaComputeModeProhibited) return ComputeMode::prohibited;
  return mode == cudaComputeModeDefault ? ComputeMode::shared : ComputeMode::exclusive;
}
#endif

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
