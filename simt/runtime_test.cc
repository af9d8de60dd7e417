/** The host API: memory, errors, streams, events, launches. */

#include "simt/runtime.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "simt/launches.h"
#include "simt/test_support.h"

namespace heddle::simt {
namespace {

TEST(SimtRuntime, describes_its_devices) {
  int count = 0, device = -1, value = 0;
  EXPECT_CUDA(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, kDevices);
  EXPECT_CUDA(cudaSetDevice(0));
  EXPECT_CUDA(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  cudaDeviceProp properties;
  EXPECT_CUDA(cudaGetDeviceProperties(&properties, 0));
  EXPECT_STREQ(properties.name, "simt (CUDA on this CPU, for tests)");
  EXPECT_EQ(properties.warpSize, warpSize);
  EXPECT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(value, properties.multiProcessorCount);
  char bus_id[16];
  EXPECT_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, 0));
  EXPECT_STREQ(bus_id, "0000:00:00.0");
  EXPECT_CUDA(cudaDriverGetVersion(&value));
  EXPECT_GE(value, 12000);
}

__global__ void fill_shared(int* ends) {
  auto* memory = static_cast<int*>(dynamic_shared());
  memory[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) *ends = memory[0] + memory[blockDim.x - 1];
}

// As on GPUs: whoever launches a kernel must have made the stream's device current.
TEST(SimtRuntime, launches_only_on_the_current_device) {
  EXPECT_CUDA(cudaSetDevice(1));
  cudaStream_t stream{};
  EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  config.dynamicSmemBytes = 64 * sizeof(int);
  config.stream = stream;
  int ends = 0;
  EXPECT_CUDA(cudaLaunchKernelEx(&config, fill_shared, &ends));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(ends, 63);
  EXPECT_CUDA(cudaSetDevice(0));
  EXPECT_EQ(cudaLaunchKernelEx(&config, fill_shared, &ends), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST(SimtRuntime, keeps_the_last_error_of_each_thread) {
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(kDevices), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_CUDA(cudaPeekAtLastError()); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_CUDA(cudaGetLastError());
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(998)), "unrecognized error code");
}

TEST(SimtRuntime, fresh_device_memory_is_poisoned_and_accounted) {
  size_t before = 0, after = 0, total = 0;
  EXPECT_CUDA(cudaMemGetInfo(&before, &total));
  unsigned char* memory = nullptr;
  EXPECT_CUDA(cudaMalloc(&memory, 1000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(memory[i], 0xa5);
  EXPECT_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, 1000u);
  EXPECT_EQ(cudaFreeHost(memory), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(memory + 1), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaFree(memory));
  EXPECT_CUDA(cudaFree(nullptr));
  EXPECT_EQ(cudaMalloc(&memory, total + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(memory, nullptr);
  cudaGetLastError();
}

TEST(SimtRuntime, registers_host_memory) {
  std::vector<int> memory(100);
  void* mapped = nullptr;
  EXPECT_EQ(cudaHostGetDevicePointer(&mapped, memory.data(), 0), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaHostRegister(memory.data(), 400, cudaHostRegisterMapped));
  EXPECT_EQ(cudaHostRegister(&memory[50], 4, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_CUDA(cudaHostGetDevicePointer(&mapped, &memory[10], 0));
  EXPECT_EQ(mapped, &memory[10]);
  cudaPointerAttributes attributes;
  EXPECT_CUDA(cudaPointerGetAttributes(&attributes, &memory[99]));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_CUDA(cudaHostUnregister(memory.data()));
  EXPECT_EQ(cudaHostUnregister(memory.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_CUDA(cudaPointerGetAttributes(&attributes, &memory[99]));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  cudaGetLastError();
}

TEST(SimtRuntime, copies_and_sets) {
  TestStream stream;
  uint32_t* device = nullptr;
  EXPECT_CUDA(cudaMallocAsync(&device, 64, stream));
  uint32_t in[16], out[16] = {};
  for (uint32_t i = 0; i < 16; ++i) in[i] = i * i;
  EXPECT_EQ(cudaMemcpyAsync(in, device, 64, cudaMemcpyHostToDevice, stream), cudaErrorInvalidValue);
  EXPECT_CUDA(cudaMemcpyAsync(device, in, 64, cudaMemcpyHostToDevice, stream));
  EXPECT_CUDA(cudaMemsetAsync(device, 0xff, 4, stream));
  EXPECT_CUDA(cudaMemcpyAsync(out, device, 64, cudaMemcpyDeviceToHost, stream));
  EXPECT_CUDA(cudaFreeAsync(device, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(out[0], ~0u);
  for (uint32_t i = 1; i < 16; ++i) EXPECT_EQ(out[i], i * i);

  EXPECT_CUDA(cudaMalloc(&device, 64));
  EXPECT_CUDA(cudaMemset(device, 1, 64));
  EXPECT_CUDA(cudaMemcpy(out, device, 64, cudaMemcpyDefault));
  EXPECT_EQ(out[15], 0x01010101u);
  EXPECT_CUDA(cudaFree(device));
  cudaGetLastError();
}

__global__ void increment(uint32_t* word) { ++*word; }

TEST(SimtRuntime, a_stream_keeps_its_order) {
  TestStream stream;
  Pinned<uint32_t> word(1);
  uint32_t seen[50];
  for (uint32_t& copy : seen) {
    EXPECT_CUDA(launch_on(stream, 1, 1, increment, word.data()));
    EXPECT_CUDA(cudaMemcpyAsync(&copy, word.data(), 4, cudaMemcpyDefault, stream));
  }
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaStreamQuery(stream));
  for (uint32_t i = 0; i < 50; ++i) EXPECT_EQ(seen[i], i + 1);
}

TEST(SimtRuntime, graphs_repeat_what_a_stream_was_given_while_captured) {
  TestStream stream, other;
  Pinned<uint32_t> word(1);
  *word.data() = 0;
  EXPECT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaErrorInvalidValue);
  EXPECT_CUDA(launch_on(stream, 1, 1, increment, word.data()));
  EXPECT_CUDA(launch_on(stream, 1, 1, increment, word.data()));
  cudaGraph_t graph{};
  EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(*word.data(), 0u);  // nothing has been done yet
  cudaGraphExec_t instance{};
  EXPECT_CUDA(cudaGraphInstantiate(&instance, graph));
  EXPECT_CUDA(cudaGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) EXPECT_CUDA(cudaGraphLaunch(instance, other));
  EXPECT_CUDA(cudaStreamSynchronize(other));
  EXPECT_EQ(*word.data(), 6u);
  EXPECT_CUDA(cudaGraphExecDestroy(instance));
}

__global__ void add(uint32_t* word, uint32_t value) {
  if (threadIdx.x == 0) __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

TEST(SimtRuntime, graphs_launch_kernels_with_the_parameters_of_now) {
  TestStream stream;
  Pinned<uint32_t> word(1);
  *word.data() = 0;
  EXPECT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_CUDA(launch_on(stream, 1, 1, add, word.data(), 1u));
  cudaGraph_t graph{};
  EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
  size_t count = 0;
  EXPECT_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  ASSERT_EQ(count, 1u);
  cudaGraphNode_t node{};
  EXPECT_CUDA(cudaGraphGetNodes(graph, &node, &count));
  cudaGraphExec_t instance{};
  EXPECT_CUDA(cudaGraphInstantiate(&instance, graph));
  const Launches before = launches();
  EXPECT_CUDA(cudaGraphLaunch(instance, stream));
  uint32_t* words = word.data();
  uint32_t value = 10;
  void* parameters[] = {&words, &value};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(add);
  kernel.gridDim = dim3(3), kernel.blockDim = dim3(2);
  kernel.kernelParams = parameters;
  EXPECT_CUDA(cudaGraphExecKernelNodeSetParams(instance, node, &kernel));
  value = 1000;  // they have been copied
  EXPECT_CUDA(cudaGraphLaunch(instance, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(*word.data(), 31u);
  EXPECT_EQ(launches().graphs, before.graphs + 2);
  EXPECT_EQ(launches().single, before.single);
  EXPECT_EQ(launches().changes, before.changes + 1);
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(instance, nullptr, &kernel), cudaErrorInvalidValue);
  kernel.func = reinterpret_cast<void*>(increment);
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(instance, node, &kernel), cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT_CUDA(cudaGraphExecDestroy(instance));
  EXPECT_CUDA(cudaGraphDestroy(graph));
}

TEST(SimtRuntime, the_null_stream_and_blocking_streams_wait_for_each_other) {
  cudaStream_t stream;
  EXPECT_CUDA(cudaStreamCreate(&stream));
  Pinned<uint32_t> word(1);
  const auto later = [](void* value) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    *static_cast<uint32_t*>(value) += 10;
  };
  const auto triple = [](void* value) { *static_cast<uint32_t*>(value) *= 3; };
  EXPECT_CUDA(cudaLaunchHostFunc(stream, later, word.data()));
  EXPECT_CUDA(cudaLaunchHostFunc(nullptr, triple, word.data()));
  EXPECT_CUDA(cudaLaunchHostFunc(nullptr, later, word.data()));
  EXPECT_CUDA(cudaLaunchHostFunc(stream, triple, word.data()));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(word[0], 120u);
  EXPECT_CUDA(cudaStreamDestroy(stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(SimtRuntime, events_mark_and_order_work) {
  TestStream first, second;
  cudaEvent_t start, end, untimed;
  EXPECT_CUDA(cudaEventCreate(&start));
  EXPECT_CUDA(cudaEventCreate(&end));
  EXPECT_CUDA(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  float milliseconds = 0;
  EXPECT_CUDA(cudaEventQuery(start));  // Never recorded counts as complete.
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);

  std::atomic<bool> go = false;
  const auto wait = [](void* flag) {
    while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  Pinned<uint32_t> word(1);
  cudaFuncAttributes attributes;
  EXPECT_CUDA(cudaFuncGetAttributes(&attributes, increment));  // loads it, which would wait for what is queued
  EXPECT_CUDA(cudaEventRecord(start, first));
  EXPECT_CUDA(cudaLaunchHostFunc(first, wait, &go));
  EXPECT_CUDA(launch_on(first, 1, 1, increment, word.data()));
  EXPECT_CUDA(cudaEventRecord(end, first));
  EXPECT_CUDA(cudaStreamWaitEvent(second, end));
  EXPECT_CUDA(launch_on(second, 1, 1, increment, word.data()));
  EXPECT_CUDA(cudaEventRecord(untimed, second));
  EXPECT_CUDA(cudaEventSynchronize(start));
  EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go = true;
  EXPECT_CUDA(cudaEventSynchronize(untimed));
  EXPECT_EQ(word[0], 2u);
  EXPECT_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 15.0f);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
  for (cudaEvent_t event : {start, end, untimed}) EXPECT_CUDA(cudaEventDestroy(event));
  EXPECT_EQ(cudaEventQuery(start), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(SimtRuntime, refuses_impossible_launches) {
  Pinned<uint32_t> word(1);
  EXPECT_EQ(launch_on(nullptr, 0, 1, increment, word.data()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_on(nullptr, 1, 1025, increment, word.data()), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_on(nullptr, 1, dim3(1, 1, 65), increment, word.data()), cudaErrorInvalidConfiguration);
  cudaLaunchAttribute attribute = {cudaLaunchAttributeCooperative, {}};
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {
      .gridDim = 65, .blockDim = 1, .dynamicSmemBytes = 0, .stream = nullptr, .attrs = &attribute, .numAttrs = 1};
  EXPECT_EQ(cudaLaunchKernelEx(&config, increment, word.data()), cudaErrorCooperativeLaunchTooLarge);
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(word[0], 0u);

  int blocks = 0;
  EXPECT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 1024, 0));
  EXPECT_EQ(blocks, 2);
  cudaFuncAttributes attributes;
  EXPECT_CUDA(cudaFuncGetAttributes(&attributes, increment));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  cudaGetLastError();
}

}  // namespace
}  // namespace heddle::simt
