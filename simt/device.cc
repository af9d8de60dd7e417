/** Devices, errors and kernels of the host API. */

#include <atomic>
#include <cstdio>
#include <cstring>

#include "simt/launches.h"
#include "simt/loss.h"
#include "simt/runtime.h"

using heddle::simt::remember;
using heddle::simt::Runtime;

namespace heddle::simt {

namespace {

constinit thread_local cudaError_t last_error = cudaSuccess;
constinit thread_local int device_of_thread = 0;

cudaDeviceProp properties_of_device() {
  cudaDeviceProp properties = {};
  std::snprintf(properties.name, sizeof properties.name, "simt (CUDA on this CPU, for tests)");
  properties.totalGlobalMem = kDeviceMemory;
  properties.sharedMemPerBlock = 48 * 1024;
  properties.regsPerBlock = 65536;
  properties.warpSize = kWarpSize;
  properties.maxThreadsPerBlock = kMaxThreads;
  properties.maxThreadsDim[0] = properties.maxThreadsDim[1] = kMaxThreads;
  properties.maxThreadsDim[2] = 64;
  properties.maxGridSize[0] = 2147483647;
  properties.maxGridSize[1] = properties.maxGridSize[2] = 65535;
  properties.totalConstMem = 64 * 1024;
  properties.major = 9;
  properties.minor = 0;
  properties.multiProcessorCount = kMultiprocessors;
  properties.canMapHostMemory = 1;
  properties.concurrentKernels = 1;
  properties.asyncEngineCount = 2;
  properties.unifiedAddressing = 1;
  properties.memoryBusWidth = 64;
  properties.l2CacheSize = 32 << 20;
  properties.maxThreadsPerMultiProcessor = 2 * kMaxThreads;
  properties.sharedMemPerMultiprocessor = 228 * 1024;
  properties.sharedMemPerBlockOptin = 227 * 1024;
  properties.regsPerMultiprocessor = 65536;
  properties.canUseHostPointerForRegisteredMem = 1;
  properties.cooperativeLaunch = 1;
  properties.maxBlocksPerMultiProcessor = kBlocksPerMultiprocessor;
  properties.memoryPoolsSupported = 1;
  return properties;
}

std::atomic<bool> lost[kDevices];
std::atomic<bool> losing_launches{false}, unavailable{false};
std::atomic<int64_t> launches_left{INT64_MAX};  // before they are refused

uint64_t volume(dim3 size) { return uint64_t{size.x} * size.y * size.z; }

bool within(dim3 size, const int (&limit)[3]) {
  return size.x <= static_cast<unsigned>(limit[0]) && size.y <= static_cast<unsigned>(limit[1]) &&
         size.z <= static_cast<unsigned>(limit[2]);
}

}  // namespace

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

int current_device() { return device_of_thread; }

void lose_device(int device) { lost[device] = true; }
void refuse_launches(int after) { launches_left = after; }
void lose_launches() { losing_launches = true; }
Launches launches() { return {single_launches, graph_launches, graph_changes}; }
DevicesUnavailable::DevicesUnavailable() { unavailable = true; }
DevicesUnavailable::~DevicesUnavailable() { unavailable = false; }
bool is_lost(int device) { return lost[device].load(std::memory_order_relaxed); }

cudaError_t why_not_launched() {
  if (is_lost(current_device())) return cudaErrorLaunchFailure;
  return launches_left.fetch_sub(1) > 0 ? cudaSuccess : cudaErrorLaunchOutOfResources;
}

cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> body, Bind bind) {
  if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
  const cudaDeviceProp properties = properties_of_device();
  if (volume(config.gridDim) == 0 || !within(config.gridDim, properties.maxGridSize) || volume(config.blockDim) == 0 ||
      volume(config.blockDim) > kMaxThreads || !within(config.blockDim, properties.maxThreadsDim) ||
      config.dynamicSmemBytes > properties.sharedMemPerMultiprocessor) {
    return remember(cudaErrorInvalidConfiguration);
  }
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == cudaLaunchAttributeCooperative && config.attrs[i].val.cooperative != 0 &&
        volume(config.gridDim) > kResidentBlocks) {
      return remember(cudaErrorCooperativeLaunchTooLarge);
    }
  }
  Runtime& runtime = Runtime::instance();
  const auto stream = runtime.stream(config.stream);
  if (stream == nullptr || (config.stream != nullptr && stream->device != current_device()))
    return remember(cudaErrorInvalidResourceHandle);
  if (const cudaError_t error = why_not_launched(); error != cudaSuccess) return remember(error);
  if (losing_launches) return cudaSuccess;
  runtime.load(kernel);
  const auto operation = [device = current_device()](std::function<void()> each, dim3 size, dim3 block, size_t shared) {
    return [grid = Grid{std::move(each), size, block, shared, device}] { run_grid(grid); };
  };
  const auto renew = [=](const cudaKernelNodeParams& other) -> std::function<void()> {
    if (other.func != kernel) return {};
    return operation(bind(kernel, other.kernelParams), other.gridDim, other.blockDim, other.sharedMemBytes);
  };
  const bool queued = runtime.enqueue(
      config.stream, operation(std::move(body), config.gridDim, config.blockDim, config.dynamicSmemBytes), renew);
  return remember(queued ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

}  // namespace heddle::simt

inline namespace simt_cuda {

const char* cudaGetErrorName(cudaError_t error) {
#define SIMT_CASE(name, value, text) \
  case name:                         \
    return #name;
  switch (error) { SIMT_ERRORS(SIMT_CASE) }
#undef SIMT_CASE
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
#define SIMT_CASE(name, value, text) \
  case name:                         \
    return text;
  switch (error) { SIMT_ERRORS(SIMT_CASE) }
#undef SIMT_CASE
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() { return std::exchange(heddle::simt::last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return heddle::simt::last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = heddle::simt::kDevices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= heddle::simt::kDevices) return remember(cudaErrorInvalidDevice);
  if (heddle::simt::unavailable) return remember(cudaErrorDevicesUnavailable);
  heddle::simt::device_of_thread = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = heddle::simt::device_of_thread;
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= heddle::simt::kDevices) return remember(cudaErrorInvalidDevice);
  *properties = heddle::simt::properties_of_device();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device < 0 || device >= heddle::simt::kDevices) return remember(cudaErrorInvalidDevice);
  const cudaDeviceProp properties = heddle::simt::properties_of_device();
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = properties.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(properties.sharedMemPerBlock);
      break;
    case cudaDevAttrWarpSize:
      *value = properties.warpSize;
      break;
    case cudaDevAttrClockRate:
      *value = 1000000;
      break;  // clock64() counts nanoseconds.
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      break;
    case cudaDevAttrIntegrated:
      *value = properties.integrated;
      break;
    case cudaDevAttrCanMapHostMemory:
      *value = properties.canMapHostMemory;
      break;
    case cudaDevAttrConcurrentKernels:
      *value = properties.concurrentKernels;
      break;
    case cudaDevAttrPciBusId:
      *value = properties.pciBusID;
      break;
    case cudaDevAttrPciDeviceId:
      *value = properties.pciDeviceID;
      break;
    case cudaDevAttrPciDomainId:
      *value = properties.pciDomainID;
      break;
    case cudaDevAttrL2CacheSize:
      *value = properties.l2CacheSize;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = properties.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrAsyncEngineCount:
      *value = properties.asyncEngineCount;
      break;
    case cudaDevAttrUnifiedAddressing:
      *value = properties.unifiedAddressing;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = properties.minor;
      break;
    case cudaDevAttrHostNativeAtomicSupported:
      *value = properties.hostNativeAtomicSupported;
      break;
    case cudaDevAttrPageableMemoryAccess:
      *value = properties.pageableMemoryAccess;
      break;
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      *value = properties.canUseHostPointerForRegisteredMem;
      break;
    case cudaDevAttrCooperativeLaunch:
      *value = properties.cooperativeLaunch;
      break;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      *value = properties.maxBlocksPerMultiProcessor;
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = properties.memoryPoolsSupported;
      break;
    case cudaDevAttrGPUDirectRDMASupported:
      *value = properties.gpuDirectRDMASupported;
      break;
    default:
      return remember(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  if (device < 0 || device >= heddle::simt::kDevices) return remember(cudaErrorInvalidDevice);
  const cudaDeviceProp properties = heddle::simt::properties_of_device();
  std::snprintf(text, static_cast<size_t>(size), "%04x:%02x:%02x.0", properties.pciDomainID, properties.pciBusID,
                properties.pciDeviceID);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  Runtime::instance().wait_for_device("cudaDeviceSynchronize");
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
  Runtime::instance().load(kernel);
  *attributes = {};
  attributes->maxThreadsPerBlock = heddle::simt::kMaxThreads;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
  const auto most = static_cast<int>(heddle::simt::properties_of_device().sharedMemPerBlockOptin);
  const bool right = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize      ? value >= 0 && value <= most
                     : attribute == cudaFuncAttributePreferredSharedMemoryCarveout ? value >= -1 && value <= 100
                                                                                   : false;
  return remember(right ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size, size_t) {
  if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
  if (block_size < 1 || block_size > static_cast<int>(heddle::simt::kMaxThreads))
    return remember(cudaErrorInvalidValue);
  Runtime::instance().load(kernel);
  *blocks = min(heddle::simt::kBlocksPerMultiprocessor, static_cast<int>(2 * heddle::simt::kMaxThreads) / block_size);
  return cudaSuccess;
}

}  // namespace simt_cuda
