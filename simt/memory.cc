/** Memory, copies, streams and events of the host API. */

#include <cstring>
#include <thread>

#include "simt/loss.h"
#include "simt/runtime.h"

using heddle::simt::Allocation;
using heddle::simt::remember;
using heddle::simt::Runtime;

namespace {

Runtime& runtime() { return Runtime::instance(); }

cudaError_t handle_error(bool known) { return remember(known ? cudaSuccess : cudaErrorInvalidResourceHandle); }

/** For who polls: until it is ready, the stream's thread may want the core. */
cudaError_t ready(bool is_ready) {
  if (!is_ready) std::this_thread::yield();
  return remember(is_ready ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t allocate(void** pointer, size_t size, Allocation::Kind kind) {
  if (pointer == nullptr) return remember(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  *pointer = runtime().allocate(size, kind);
  return remember(*pointer != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

/** Whether the kind fits the two ends. Addresses of no allocation may be pageable memory or a device variable. */
bool direction_fits(const void* to, const void* from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return true;
  const auto is = [](const void* address, bool device) {
    const auto found = runtime().find(address);
    return !found || (found->kind == Allocation::kDevice) == device;
  };
  return is(to, kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) &&
         is(from, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice);
}

}  // namespace

inline namespace simt_cuda {

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *total = heddle::simt::kDeviceMemory;
  *available = runtime().free_device_bytes();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t size) { return allocate(pointer, size, Allocation::kDevice); }

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  if (runtime().stream(stream) == nullptr) return remember(cudaErrorInvalidResourceHandle);
  return allocate(pointer, size, Allocation::kDevice);
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  runtime().wait_for_device("cudaFree");
  return remember(runtime().release(pointer, Allocation::kDevice) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (pointer == nullptr) return cudaSuccess;
  const auto found = runtime().find(pointer);
  if (!found || found->kind != Allocation::kDevice) return remember(cudaErrorInvalidValue);
  return handle_error(runtime().enqueue(stream, [pointer] { runtime().release(pointer, Allocation::kDevice); }));
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned) { return allocate(pointer, size, Allocation::kHost); }

cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  runtime().wait_for_device("cudaFreeHost");
  return remember(runtime().release(pointer, Allocation::kHost) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned) {
  if (pointer == nullptr || size == 0) return remember(cudaErrorInvalidValue);
  return remember(runtime().register_host(pointer, size) ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* pointer) {
  runtime().wait_for_device("cudaHostUnregister");
  return remember(runtime().unregister_host(pointer) ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned) {
  const auto found = runtime().find(host_pointer);
  if (!found || found->kind == Allocation::kDevice) return remember(cudaErrorInvalidValue);
  *device_pointer = host_pointer;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const auto found = runtime().find(pointer);
  auto* const address = const_cast<void*>(pointer);
  if (!found) {
    *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, address};
  } else if (found->kind == Allocation::kDevice) {
    *attributes = {cudaMemoryTypeDevice, 0, address, nullptr};
  } else {
    *attributes = {cudaMemoryTypeHost, 0, address, address};
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  if (!direction_fits(to, from, kind)) return remember(cudaErrorInvalidValue);
  runtime().wait_for_device("cudaMemcpy");
  std::memmove(to, from, size);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  if (!direction_fits(to, from, kind)) return remember(cudaErrorInvalidValue);
  return handle_error(runtime().enqueue(stream, [=] { std::memmove(to, from, size); }));
}

cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attributes, size_t* attributes_from, size_t attributes_count,
                                 cudaStream_t stream) {
  if (count == 0 || attributes == nullptr || attributes_from == nullptr || attributes_count != 1 ||
      attributes_from[0] != 0)
    return remember(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i] == 0) return remember(cudaErrorInvalidValue);
    if (const cudaError_t error = cudaMemcpyAsync(to[i], from[i], sizes[i], cudaMemcpyDefault, stream);
        error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int value, size_t size) {
  runtime().wait_for_device("cudaMemset");
  std::memset(to, value, size);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  return handle_error(runtime().enqueue(stream, [=] { std::memset(to, value, size); }));
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (stream == nullptr || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) {
    return remember(cudaErrorInvalidValue);
  }
  *stream = runtime().add_stream(flags == cudaStreamDefault);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) { return handle_error(runtime().remove_stream(stream)); }

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const auto found = runtime().stream(stream);
  if (found != nullptr) found->wait_for(found->added());
  if (found != nullptr && heddle::simt::is_lost(found->device)) return remember(cudaErrorLaunchFailure);
  return handle_error(found != nullptr);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const auto found = runtime().stream(stream);
  if (found == nullptr) return remember(cudaErrorInvalidResourceHandle);
  if (heddle::simt::is_lost(found->device)) return remember(cudaErrorLaunchFailure);
  return ready(found->empty());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned) {
  const auto event = runtime().event(handle);
  if (event == nullptr) return remember(cudaErrorInvalidResourceHandle);
  const uint64_t recording = event->announced();
  return handle_error(runtime().enqueue(stream, [event, recording] { event->wait_for(recording); }));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  return handle_error(runtime().enqueue(stream, [=] { function(argument); }));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (event == nullptr) return remember(cudaErrorInvalidValue);
  *event = runtime().add_event((flags & cudaEventDisableTiming) == 0);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) { return handle_error(runtime().remove_event(event)); }

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  const auto event = runtime().event(handle);
  if (event == nullptr || runtime().stream(stream) == nullptr) return remember(cudaErrorInvalidResourceHandle);
  const uint64_t recording = event->announce();
  return handle_error(runtime().enqueue(stream, [event, recording] { event->complete(recording); }));
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  const auto event = runtime().event(handle);
  if (event == nullptr) return remember(cudaErrorInvalidResourceHandle);
  return ready(event->completed(event->announced()));
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  const auto event = runtime().event(handle);
  if (event != nullptr) event->wait_for(event->announced());
  return handle_error(event != nullptr);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const auto first = runtime().event(start), last = runtime().event(end);
  if (first == nullptr || last == nullptr || !first->timed || !last->timed || first->announced() == 0 ||
      last->announced() == 0) {
    return remember(cudaErrorInvalidResourceHandle);
  }
  if (!first->completed(first->announced()) || !last->completed(last->announced())) return remember(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(last->time() - first->time()).count();
  return cudaSuccess;
}

}  // namespace simt_cuda
