// The CUDA side of bench/experiments/experiments.h. Compiled twice, as cuda_device.cu is.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "bench/experiments/clock.h"
#include "bench/experiments/experiments.h"
#include "core/error.h"
#include "kernels/arena.h"
#include "kernels/backend.h"
#include "kernels/wait.cuh"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {
namespace {

constexpr int kThreads = 256;  ///< of a block
constexpr uint32_t kStopPolling = ~0u;

/** Thread i does element i. `in`, `out`: [n], host or device. */
__global__ void __launch_bounds__(kThreads)
    work_kernel(const uint32_t* in, uint32_t* out, int n, Work work, const uint32_t* table) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = worked(work, table, in[i]);
}

/** Thread i does elements i, i + threads, ... whenever `flag` has changed; one thread of a block looks. All in host
 *  memory. */
__global__ void __launch_bounds__(kThreads) polling_kernel(uint32_t* flag, const uint32_t* in, uint32_t* out, int n) {
  __shared__ uint32_t raised;
  const int threads = static_cast<int>(gridDim.x * blockDim.x);
  for (uint32_t seen = 0;;) {
    if (threadIdx.x == 0) {
      uint32_t now = seen;
      while (now == seen) now = SystemAtomic<uint32_t>(*flag).load(cuda::memory_order_acquire);
      raised = now;
    }
    __syncthreads();
    seen = raised;
    __syncthreads();  // before thread 0 writes it again
    if (seen == kStopPolling) return;
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += threads)
      SystemAtomic<uint32_t>(out[i]).store(in[i] + 1, cuda::memory_order_relaxed);
  }
}

/** Block b, one warp, serves slots[b] until it says stop. The result goes to the slot's only column. */
__global__ void __launch_bounds__(kLanes)
    serving_kernel(Slot* slots, uint32_t* wakes, Work work, const uint32_t* table) {
  Slot& slot = slots[blockIdx.x];
  const Assignment mine{&slot, wakes, blockIdx.x, gridDim.x};
  const int lane = static_cast<int>(threadIdx.x);
  for (uint32_t stamp = 1;; stamp = next_stamp(stamp)) {
    const uint64_t word = wait_for(mine, stamp);
    if (word == 0) return;
    if (offset_of(word) != kNoPacket) slot.columns[lane] = worked(work, table, static_cast<uint32_t>(word));
    __syncwarp();
    SystemAtomic<uint32_t>(slot.result.narrow[lane]).store(pack_narrow(stamp, 0), cuda::memory_order_release);
  }
}

__constant__ uint32_t constant_limits[Experiments::kMaxLimits];

/** Warp w searches for elements w, w + warps, ... in limits [0, count). */
template <LimitMemory memory>
__global__ void __launch_bounds__(kThreads)
    search_kernel(const uint32_t* limits, uint32_t count, const uint32_t* in, uint32_t* out, int n) {
  __shared__ uint32_t own[memory == LimitMemory::shared ? Experiments::kMaxLimits : 1];
  if constexpr (memory == LimitMemory::shared) {
    for (uint32_t at = threadIdx.x; at < count; at += blockDim.x) own[at] = limits[at];
    __syncthreads();
  }
  const auto limit = [&](uint32_t at) {
    if constexpr (memory == LimitMemory::texture) return __ldg(limits + at);
    if constexpr (memory == LimitMemory::constant) return constant_limits[at];
    if constexpr (memory == LimitMemory::shared) return own[at];
    return limits[at];
  };
  const uint32_t lane = threadIdx.x % kLanes;
  const int warps = static_cast<int>(gridDim.x * blockDim.x / kLanes);
  for (int i = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / kLanes); i < n; i += warps) {
    const uint32_t value = in[i];
    uint32_t first = 0, size = count;  // the answer lies in [first, first + size]
    for (;;) {
      const uint32_t step = (size + kLanes - 1) / kLanes, before = lane * step;
      const bool smaller = before < size && limit(first + min(before + step, size) - 1) < value;
      const auto passed = min(static_cast<uint32_t>(__popc(__ballot_sync(~0u, smaller))) * step, size);
      first += passed;
      size = min(step, size - passed);
      if (step == 1 || size == 0) break;
    }
    if (lane == 0) out[i] = first;
  }
}

class CudaExperiments final : public Experiments {
 public:
  explicit CudaExperiments(int index) : pinned_(Arena::kPinned), memory_(Arena::kDevice) {
    HEDDLE_CUDA_CHECK(cudaSetDevice(index));
    // Loads the kernels now: the first call of each would pay for it.
    for (const void* kernel :
         {reinterpret_cast<const void*>(work_kernel), reinterpret_cast<const void*>(polling_kernel),
          reinterpret_cast<const void*>(serving_kernel)}) {
      cudaFuncAttributes use{};
      HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&use, kernel));
    }
    HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    HEDDLE_CUDA_CHECK(cudaEventCreate(&before_));
    HEDDLE_CUDA_CHECK(cudaEventCreate(&after_));
    flag_ = pinned_.take<uint32_t>(32);
    input_ = pinned_.take<uint32_t>(kMaxElements);
    output_ = pinned_.take<uint32_t>(kMaxElements);
    device_input_ = memory_.take<uint32_t>(kMaxElements);
    device_output_ = memory_.take<uint32_t>(kMaxElements);
  }
  ~CudaExperiments() override {
    stop();
    cudaEventDestroy(before_);
    cudaEventDestroy(after_);
    cudaStreamDestroy(stream_);
  }

  uint32_t* input() override { return input_; }
  const uint32_t* output() override { return output_; }

  void load(std::span<const uint32_t> table) override {
    auto* copy = memory_.take<uint32_t>(table.size());
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(copy, table.data(), table.size_bytes(), cudaMemcpyHostToDevice, stream_));
    HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream_));
    table_ = copy;
  }

  CallTimes exchange(Exchange how, Work work, int n) override;
  double compute_s(Work work, int n) override;
  void load_limits(std::span<const uint32_t> limits) override;
  double search_s(LimitMemory memory, int n) override;
  void start_polling(int n) override;
  void poll(uint32_t round) override { __atomic_store_n(flag_, round, __ATOMIC_RELEASE); }
  SlotGroup serve(Work work, int slots) override;
  void stop() override;

 private:
  cudaLaunchConfig_t grid(int blocks, int threads) const {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.stream = stream_;
    return config;
  }
  void launch(const uint32_t* in, uint32_t* out, Work work, int n) {
    const auto config = grid((n + kThreads - 1) / kThreads, kThreads);
    HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, work_kernel, in, out, n, work, table_));
  }
  void copy_in(int n) {
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(device_input_, input_, size_t(n) * 4, cudaMemcpyHostToDevice, stream_));
  }
  void copy_out(int n) {
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(output_, device_output_, size_t(n) * 4, cudaMemcpyDeviceToHost, stream_));
  }
  void wait() { HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

  Arena pinned_, memory_;
  cudaStream_t stream_{};
  cudaEvent_t before_{}, after_{};
  uint32_t *flag_, *input_, *output_;        // pinned; [32], [kMaxElements]
  uint32_t *device_input_, *device_output_;  // device, [kMaxElements]
  const uint32_t* table_ = nullptr;          // device
  uint32_t* limits_ = nullptr;               // device, [kMaxLimits]
  uint32_t limit_count_ = 0;
  SlotGroup slots_{};            // pinned; taken once, with the most slots so far
  uint32_t* wakes_ = nullptr;    // device, [slots], of any value
  uint32_t* columns_ = nullptr;  // pinned, [slots][kSlotPackets]
  bool polling_ = false, serving_ = false;
};

CallTimes CudaExperiments::exchange(Exchange how, Work work, int n) {
  CallTimes times;
  double last = us_now();
  const auto lap = [&](double& us) {
    const double now = us_now();
    us = now - last, last = now;
  };
  if (how == Exchange::mapped) {
    launch(input_, output_, work, n);
    lap(times.launch_us);
  } else {
    const bool step_by_step = how == Exchange::sync;
    copy_in(n);
    if (step_by_step) wait();
    lap(times.copy_in_us);
    launch(device_input_, device_output_, work, n);
    if (step_by_step) wait();
    lap(times.launch_us);
    copy_out(n);
    if (step_by_step) wait();
    lap(times.copy_out_us);
  }
  wait();
  lap(times.wait_us);
  return times;
}

double CudaExperiments::compute_s(Work work, int n) {
  copy_in(n);
  HEDDLE_CUDA_CHECK(cudaEventRecord(before_, stream_));
  launch(device_input_, device_output_, work, n);
  HEDDLE_CUDA_CHECK(cudaEventRecord(after_, stream_));
  copy_out(n);
  wait();
  float ms = 0;
  HEDDLE_CUDA_CHECK(cudaEventElapsedTime(&ms, before_, after_));
  return 1e-3 * static_cast<double>(ms);
}

void CudaExperiments::load_limits(std::span<const uint32_t> limits) {
  if (limits.empty() || limits.size() > kMaxLimits) throw Error(format("%zu limits", limits.size()));
  if (limits_ == nullptr) limits_ = memory_.take<uint32_t>(kMaxLimits);
  limit_count_ = static_cast<uint32_t>(limits.size());
  HEDDLE_CUDA_CHECK(cudaMemcpyAsync(limits_, limits.data(), limits.size_bytes(), cudaMemcpyHostToDevice, stream_));
  wait();
  HEDDLE_CUDA_CHECK(cudaMemcpyToSymbol(constant_limits, limits.data(), limits.size_bytes()));
}

double CudaExperiments::search_s(LimitMemory memory, int n) {
  constexpr int kBlocks = 1024;
  const auto config = grid(std::min((n + kThreads / kLanes - 1) / (kThreads / kLanes), kBlocks), kThreads);
  const auto launch_search = [&](auto* kernel) {
    HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, static_cast<const uint32_t*>(limits_), limit_count_,
                                         static_cast<const uint32_t*>(device_input_), device_output_, n));
  };
  copy_in(n);
  HEDDLE_CUDA_CHECK(cudaEventRecord(before_, stream_));
  switch (memory) {
    case LimitMemory::global:
      launch_search(search_kernel<LimitMemory::global>);
      break;
    case LimitMemory::texture:
      launch_search(search_kernel<LimitMemory::texture>);
      break;
    case LimitMemory::constant:
      launch_search(search_kernel<LimitMemory::constant>);
      break;
    case LimitMemory::shared:
      launch_search(search_kernel<LimitMemory::shared>);
      break;
  }
  HEDDLE_CUDA_CHECK(cudaEventRecord(after_, stream_));
  copy_out(n);
  wait();
  float ms = 0;
  HEDDLE_CUDA_CHECK(cudaEventElapsedTime(&ms, before_, after_));
  return 1e-3 * static_cast<double>(ms);
}

void CudaExperiments::start_polling(int n) {
  int device = 0, per_multiprocessor = 0;
  HEDDLE_CUDA_CHECK(cudaGetDevice(&device));
  cudaDeviceProp properties{};
  HEDDLE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  HEDDLE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, polling_kernel, kThreads, 0));
  const int blocks = std::min((n + kThreads - 1) / kThreads, per_multiprocessor * properties.multiProcessorCount);
  poll(0);
  const auto config = grid(blocks, kThreads);
  HEDDLE_CUDA_CHECK(
      cudaLaunchKernelEx(&config, polling_kernel, flag_, static_cast<const uint32_t*>(input_), output_, n));
  polling_ = true;
}

SlotGroup CudaExperiments::serve(Work work, int slots) {
  if (slots > slots_.count) {
    slots_ = {pinned_.take<Slot>(static_cast<size_t>(slots)), slots, false};
    columns_ = pinned_.take<uint32_t>(static_cast<size_t>(slots) * kSlotPackets);
    wakes_ = memory_.take<uint32_t>(static_cast<size_t>(slots));
  }
  std::memset(static_cast<void*>(slots_.slots), 0, sizeof(Slot) * static_cast<size_t>(slots));
  for (int i = 0; i < slots; ++i) slots_.slots[i].columns = columns_ + i * kSlotPackets;
  const auto config = grid(slots, kLanes);
  HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serving_kernel, slots_.slots, wakes_, work, table_));
  serving_ = true;
  return {slots_.slots, slots, false};
}

void CudaExperiments::stop() {
  if (polling_) poll(kStopPolling);
  if (serving_)
    for (int i = 0; i < slots_.count; ++i)
      for (uint64_t& word : slots_.slots[i].word) __atomic_store_n(&word, kStopWord, __ATOMIC_RELEASE);
  cudaStreamSynchronize(stream_);
  polling_ = serving_ = false;
}

}  // namespace

std::unique_ptr<Experiments> open_experiments(int index) { return std::make_unique<CudaExperiments>(index); }

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
