#include "kernels/shared_state.h"

#ifdef HEDDLE_SIMT

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

SharedState::SharedState(int, size_t bytes) : region_(bytes) {}
SharedState::SharedState(int, memif::File file, size_t bytes) : region_(std::move(file), bytes) {}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND

#else

#include <cuda.h>
#include <cuda_runtime.h>

#include "core/error.h"
#include "kernels/check.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {
namespace {

// The runtime has no such memory, and the driver's library is not linked, for it is only there beside a GPU.
template <class Function>
Function* driver(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  HEDDLE_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess)
    throw Error(format("the NVIDIA driver has no %s; install one of CUDA 12 or later", name));
  return reinterpret_cast<Function*>(found);
}
// `function` is that of CUDA 10.2, as its declaration says.
#define HEDDLE_DRIVER(function) driver<decltype(function)>(#function, 10020)

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* why = nullptr;
  if (HEDDLE_DRIVER(cuGetErrorString)(result, &why) != CUDA_SUCCESS || why == nullptr) why = "unknown error";
  throw Error(format("GPU memory that programs share: %s: %s", what, why));
}

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  return properties;
}

size_t whole_granules(int device, size_t bytes) {
  const CUmemAllocationProp properties = properties_of(device);
  size_t granule = 0;
  check(HEDDLE_DRIVER(cuMemGetAllocationGranularity)(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "its granularity");
  return (bytes + granule - 1) / granule * granule;
}

}  // namespace

SharedState::SharedState(int device, size_t bytes) : bytes_(whole_granules(device, bytes)) {
  const CUmemAllocationProp properties = properties_of(device);
  CUmemGenericAllocationHandle handle{};
  check(HEDDLE_DRIVER(cuMemCreate)(&handle, bytes_, &properties, 0), "no such memory");
  int file = -1;
  const CUresult exported =
      HEDDLE_DRIVER(cuMemExportToShareableHandle)(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  file_ = memif::File(file);
  map(device, handle);
  check(exported, "it cannot be shared");
}

SharedState::SharedState(int device, memif::File file, size_t bytes)
    : file_(std::move(file)), bytes_(whole_granules(device, bytes)) {
  CUmemGenericAllocationHandle handle{};
  check(HEDDLE_DRIVER(cuMemImportFromShareableHandle)(&handle,
                                                      reinterpret_cast<void*>(static_cast<intptr_t>(file_.get())),
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "what came is none");
  map(device, handle);
}

SharedState::~SharedState() {
  if (base_ == nullptr) return;
  const auto at = reinterpret_cast<CUdeviceptr>(base_);
  HEDDLE_DRIVER(cuMemUnmap)(at, bytes_);
  HEDDLE_DRIVER(cuMemAddressFree)(at, bytes_);
}

/** Maps it, and lets the handle go: the mapping keeps the memory. */
void SharedState::map(int device, unsigned long long handle) {
  CUdeviceptr at = 0;
  CUresult result = HEDDLE_DRIVER(cuMemAddressReserve)(&at, bytes_, 0, 0, 0);
  if (result == CUDA_SUCCESS && (result = HEDDLE_DRIVER(cuMemMap)(at, bytes_, 0, handle, 0)) != CUDA_SUCCESS)
    HEDDLE_DRIVER(cuMemAddressFree)(at, bytes_);
  HEDDLE_DRIVER(cuMemRelease)(handle);
  check(result, "it cannot be mapped");
  base_ = reinterpret_cast<std::byte*>(at);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {device}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  result = HEDDLE_DRIVER(cuMemSetAccess)(at, bytes_, &access, 1);
  if (result == CUDA_SUCCESS) return;
  HEDDLE_DRIVER(cuMemUnmap)(at, bytes_);
  HEDDLE_DRIVER(cuMemAddressFree)(at, bytes_);
  base_ = nullptr;
  check(result, "it cannot be reached");
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND

#endif
