// The CUDA side of bench/experiments/transfers.h. Compiled twice, as cuda_device.cu is.

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <random>

#include "bench/experiments/clock.h"
#include "bench/experiments/transfers.h"
#include "core/error.h"
#include "kernels/arena.h"
#include "kernels/backend.h"
#include "kernels/check.h"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {
namespace {

constexpr unsigned kThreads = 128;  ///< of a block
constexpr uint32_t kWord = sizeof(uint4);

/** Block b copies parts[b], parts[b + blocks], ... from one buffer to the same places in the other. */
__global__ void __launch_bounds__(kThreads)
    write_parts(const uint8_t* from, uint8_t* to, const Transfers::Part* parts, uint32_t count) {
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    const Transfers::Part part = parts[i];
    for (uint32_t at = part.at + threadIdx.x * kWord; at < part.at + part.bytes; at += kThreads * kWord)
      *reinterpret_cast<uint4*>(to + at) = *reinterpret_cast<const uint4*>(from + at);
  }
}

/** Inverts `words` words. */
__global__ void __launch_bounds__(kThreads) invert(uint4* data, uint32_t words) {
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < words; i += gridDim.x * kThreads) {
    const uint4 word = data[i];
    data[i] = make_uint4(~word.x, ~word.y, ~word.z, ~word.w);
  }
}

/** A moment on a stream. */
class Event {
 public:
  explicit Event(cudaStream_t stream) {
    HEDDLE_CUDA_CHECK(cudaEventCreate(&event_));
    HEDDLE_CUDA_CHECK(cudaEventRecord(event_, stream));
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  /** Both have passed. */
  double us_since(const Event& first) const {
    float ms = 0;
    HEDDLE_CUDA_CHECK(cudaEventElapsedTime(&ms, first.event_, event_));
    return 1e3 * static_cast<double>(ms);
  }

 private:
  cudaEvent_t event_{};
};

class CudaTransfers final : public Transfers {
 public:
  explicit CudaTransfers(int index) : pinned_(Arena::kPinned), memory_(Arena::kDevice) {
    HEDDLE_CUDA_CHECK(cudaSetDevice(index));
    for (const void* kernel : {reinterpret_cast<const void*>(write_parts), reinterpret_cast<const void*>(invert)}) {
      cudaFuncAttributes use{};  // loads the kernels now: the first call of each would pay for it
      HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&use, kernel));
    }
    packets_ = pinned_.take<uint8_t>(kMaxBytes);
    parts_ = pinned_.take<Part>(kMaxParts);
    twins_ = memory_.take<uint8_t>(kMaxBytes);
    for (Side& side : sides_) {
      HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
      side.data = memory_.take<uint8_t>(kMaxBytes);
      side.results = pinned_.take<uint8_t>(kMaxBytes);
    }
  }
  ~CudaTransfers() override {
    for (const Side& side : sides_) cudaStreamDestroy(side.stream);
  }

  uint8_t* packets() override { return packets_; }
  const uint8_t* results(int function) override { return sides_[static_cast<size_t>(function)].results; }

  void load() override {
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(twins_, packets_, kMaxBytes, cudaMemcpyHostToDevice, stream()));
    HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream()));
  }
  double copy_back_s(Back how, std::span<const Part> parts) override;
  std::vector<Copy> serve(std::span<const Function> functions, int rounds, double period_us) override;

 private:
  /** A function's. */
  struct Side {
    cudaStream_t stream{};
    uint8_t* data = nullptr;     // device, [kMaxBytes]
    uint8_t* results = nullptr;  // pinned, [kMaxBytes]
  };
  cudaStream_t stream() const { return sides_[0].stream; }
  static cudaLaunchConfig_t grid(size_t blocks, cudaStream_t stream) {
    constexpr size_t kMaxBlocks = 1024;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(std::min(blocks, kMaxBlocks)));
    config.blockDim = dim3(kThreads);
    config.stream = stream;
    return config;
  }
  void copy_in_a_batch(std::span<const Part> parts);

  Arena pinned_, memory_;
  uint8_t* packets_;  // pinned, [kMaxBytes]
  uint8_t* twins_;    // device, [kMaxBytes]
  Part* parts_;       // pinned, [kMaxParts]
  Side sides_[kMaxFunctions];
};

double CudaTransfers::copy_back_s(Back how, std::span<const Part> parts) {
  if (parts.size() > kMaxParts) throw Error(format("%zu parts; at most %zu are copied", parts.size(), kMaxParts));
  for (const Part& part : parts)
    if (part.at % kWord != 0 || part.bytes % kWord != 0 || part.bytes == 0 || part.at + size_t{part.bytes} > kMaxBytes)
      throw Error(
          format("%u bytes at %u: expected a part of %zu, in multiples of %u", part.bytes, part.at, kMaxBytes, kWord));
  if (parts.empty()) return 0;
  const double start = us_now();
  switch (how) {
    case Back::copies:
      for (const Part& part : parts)
        HEDDLE_CUDA_CHECK(
            cudaMemcpyAsync(packets_ + part.at, twins_ + part.at, part.bytes, cudaMemcpyDeviceToHost, stream()));
      break;
    case Back::batch:
      copy_in_a_batch(parts);
      break;
    case Back::kernel: {
      std::ranges::copy(parts, parts_);
      const auto config = grid(parts.size(), stream());
      HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, write_parts, static_cast<const uint8_t*>(twins_), packets_,
                                           static_cast<const Part*>(parts_), static_cast<uint32_t>(parts.size())));
      break;
    }
  }
  HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream()));
  return 1e-6 * (us_now() - start);
}

void CudaTransfers::copy_in_a_batch(std::span<const Part> parts) {
  std::vector<const void*> sources;
  std::vector<void*> targets;
  std::vector<size_t> sizes;
  for (const Part& part : parts)
    sources.push_back(twins_ + part.at), targets.push_back(packets_ + part.at), sizes.push_back(part.bytes);
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t attributes_from = 0;
  HEDDLE_CUDA_CHECK(cudaMemcpyBatchAsync(targets.data(), sources.data(), sizes.data(), parts.size(), &attributes,
                                         &attributes_from, 1, stream()));
}

std::vector<Transfers::Copy> CudaTransfers::serve(std::span<const Function> functions, int rounds, double period_us) {
  if (functions.size() > kMaxFunctions) throw Error(format("%zu functions", functions.size()));
  for (const Function& function : functions)
    if (function.bytes_in % kWord != 0 || function.bytes_out % kWord != 0 || function.bytes_in == 0 ||
        function.bytes_in > kMaxBytes || function.bytes_out > function.bytes_in)
      throw Error(format("%u bytes to the GPU and %u back", function.bytes_in, function.bytes_out));
  struct Request {
    double at_us;
    int function;
  };
  std::vector<Request> requests;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> within(0, period_us);
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < functions.size(); ++i)
      requests.push_back({round * period_us + within(random), static_cast<int>(i)});
  std::ranges::stable_sort(requests, {}, &Request::at_us);

  const Event first(stream());
  HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream()));  // before other streams begin
  std::vector<std::unique_ptr<Event>> starts, ends;
  const double start = us_now();
  for (const Request& request : requests) {
    const Side& side = sides_[request.function];
    const Function& function = functions[static_cast<size_t>(request.function)];
    while (us_now() - start < request.at_us) {
    }
    starts.push_back(std::make_unique<Event>(side.stream));
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(side.data, packets_, function.bytes_in, cudaMemcpyHostToDevice, side.stream));
    ends.push_back(std::make_unique<Event>(side.stream));
    const uint32_t words = function.bytes_in / kWord;
    const auto config = grid((words + kThreads - 1) / kThreads, side.stream);
    HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, invert, reinterpret_cast<uint4*>(side.data), words));
    if (function.bytes_out != 0)
      HEDDLE_CUDA_CHECK(
          cudaMemcpyAsync(side.results, side.data, function.bytes_out, cudaMemcpyDeviceToHost, side.stream));
  }
  for (const Side& side : sides_) HEDDLE_CUDA_CHECK(cudaStreamSynchronize(side.stream));
  std::vector<Copy> copies;
  for (size_t i = 0; i < requests.size(); ++i)
    copies.push_back({requests[i].function, starts[i]->us_since(first), ends[i]->us_since(first)});
  return copies;
}

}  // namespace

std::unique_ptr<Transfers> open_transfers(int index) { return std::make_unique<CudaTransfers>(index); }

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
