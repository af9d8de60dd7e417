// The CUDA side of gpu/device.h: the only file that calls the CUDA runtime. Compiled twice, by nvcc for GPUs and by the
// host compiler against simt/, into the namespaces cuda_backend and simt_backend.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/error.h"
#include "gpu/device.h"
#include "gpu/functions.h"
#include "kernels/arena.h"
#include "kernels/backend.h"
#include "kernels/check.h"
#include "kernels/kernels.cuh"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {
namespace {

constexpr size_t kPatchBytes = 1 << 20;  ///< staging for patches, pinned

DeviceInfo describe(int index) {
  cudaDeviceProp properties{};
  HEDDLE_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
  DeviceInfo info;
#ifdef HEDDLE_SIMT
  info.name = "simt";
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

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : pinned_(Arena::kPinned), memory_(Arena::kDevice) {
    HEDDLE_CUDA_CHECK(cudaSetDevice(index));
    info_ = describe(index);
    // Loads both kernels now: a first launch behind a resident kernel would block until that ends.
    for (const void* kernel :
         {reinterpret_cast<const void*>(persistent_kernel), reinterpret_cast<const void*>(launched_kernel)}) {
      cudaFuncAttributes use{};
      HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&use, kernel));
      info_.kernel_registers = std::max(info_.kernel_registers, use.numRegs);
      info_.kernel_local_bytes = std::max(info_.kernel_local_bytes, use.localSizeBytes);
    }
    HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&kernel_stream_, cudaStreamNonBlocking));
    HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&copy_stream_, cudaStreamNonBlocking));
    staging_ = pinned_.take<std::byte>(kPatchBytes);
  }
  ~CudaDevice() override {
    stop();
    for (auto& group : groups_) cudaStreamDestroy(group.stream);
    cudaStreamDestroy(kernel_stream_);
    cudaStreamDestroy(copy_stream_);
  }

  const DeviceInfo& info() const override { return info_; }

  PacketMemory packet_memory(size_t bytes) override {
    if (bytes > kNoPacket) throw Error("packet memory: at most 1 TiB");
    packets_ = pinned_.take<uint8_t>(bytes);
    return {reinterpret_cast<std::byte*>(packets_), bytes};
  }

  int add_program(const ProgramSpec& spec) override;
  SlotGroup add_slots(int program, int count) override;
  void start(bool persistent) override;
  void launch(const SlotGroup& group, int program, int count) override;
  void patch(int program, int node, size_t offset, std::span<const std::byte> bytes) override;
  std::pair<uint64_t, uint64_t> counts(int program, int node) override;
  std::string failure() override;
  void stop() override;

 private:
  struct Group {
    SlotGroup slots;
    int program;
    cudaStream_t stream;
  };
  void copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, kind, copy_stream_));
    HEDDLE_CUDA_CHECK(cudaStreamSynchronize(copy_stream_));
  }

  DeviceInfo info_;
  Arena pinned_, memory_;
  cudaStream_t kernel_stream_{}, copy_stream_{};
  uint8_t* packets_ = nullptr;  // pinned
  std::byte* staging_;          // pinned, [kPatchBytes], guarded by copying_
  std::mutex copying_;
  std::vector<Program> programs_;    // host copies
  std::vector<Program*> on_device_;  // device
  std::vector<Group> groups_;
  bool persistent_ = false;
};

int CudaDevice::add_program(const ProgramSpec& spec) {
  if (spec.nodes.size() > kMaxNodes)
    throw Error(format("a GPU segment has %zu elements, at most %d fit; place one of them with DEVICE cpu",
                       spec.nodes.size(), kMaxNodes));
  Program program{};
  size_t targets = 0;
  for (size_t n = 0; n < spec.nodes.size(); ++n) {
    const auto& from = spec.nodes[n];
    auto& to = program.nodes[n];
    to.function = static_cast<int16_t>(from.function);
    to.neutral = from.neutral;
    to.first_target = static_cast<uint16_t>(targets);
    to.outputs = static_cast<uint16_t>(from.outputs.size());
    if (targets + from.outputs.size() + from.drops.size() > kMaxTargets)
      throw Error(format("a GPU segment has more than %d outputs and drop reasons; use fewer outputs", kMaxTargets));
    for (uint16_t target : from.outputs) program.targets[targets++] = target;
    for (uint16_t target : from.drops) program.targets[targets++] = target;
    if (!from.table.empty()) {
      auto* table = memory_.take<std::byte>(from.table.size());
      copy(table, from.table.data(), from.table.size(), cudaMemcpyHostToDevice);
      to.table = table;
    }
    if (from.function < 0 && from.neutral.kind == NeutralOp::kCount) {
      to.counts = memory_.take<unsigned long long>(2);
      HEDDLE_CUDA_CHECK(cudaMemsetAsync(to.counts, 0, 2 * sizeof(unsigned long long), copy_stream_));
      HEDDLE_CUDA_CHECK(cudaStreamSynchronize(copy_stream_));
    }
  }
  program.count = static_cast<uint16_t>(spec.nodes.size());
  program.columns_in = spec.columns_in;
  program.columns_out = spec.columns_out;
  program.writes_packets = spec.writes_packets;
  program.word_has_dst = spec.word_has_dst;
  auto* device = memory_.take<Program>(1);
  copy(device, &program, sizeof program, cudaMemcpyHostToDevice);
  programs_.push_back(program);
  on_device_.push_back(device);
  return static_cast<int>(programs_.size()) - 1;
}

SlotGroup CudaDevice::add_slots(int program, int count) {
  auto* slots = pinned_.take<Slot>(static_cast<size_t>(count));
  std::memset(static_cast<void*>(slots), 0, sizeof(Slot) * static_cast<size_t>(count));
  cudaStream_t stream{};
  HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  groups_.push_back({{slots, count}, program, stream});
  return groups_.back().slots;
}

void CudaDevice::start(bool persistent) {
  persistent_ = persistent;
  if (!persistent) return;
  std::vector<Assignment> assignments;
  for (auto& group : groups_)
    for (int i = 0; i < group.slots.count; ++i)
      assignments.push_back(
          {group.slots.slots + i, on_device_[static_cast<size_t>(group.program)], static_cast<uint32_t>(i)});
  int per_multiprocessor = 0;
  HEDDLE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, persistent_kernel, kTile, 0));
  const size_t resident = static_cast<size_t>(per_multiprocessor) * static_cast<size_t>(info_.multiprocessors);
  if (assignments.size() > resident)
    throw Error(format("%zu slots, but only %zu blocks fit on %s at once; use fewer threads or --slots",
                       assignments.size(), resident, info_.name.c_str()));
  if (assignments.empty()) return;
  auto* on_device = memory_.take<Assignment>(assignments.size());
  copy(on_device, assignments.data(), assignments.size() * sizeof(Assignment), cudaMemcpyHostToDevice);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(assignments.size()));
  config.blockDim = dim3(kTile);
  config.stream = kernel_stream_;
  HEDDLE_CUDA_CHECK(
      cudaLaunchKernelEx(&config, persistent_kernel, static_cast<const Assignment*>(on_device), packets_));
}

void CudaDevice::launch(const SlotGroup& slots, int program, int count) {
  cudaStream_t stream{};
  for (auto& group : groups_)
    if (group.slots.slots == slots.slots) stream = group.stream;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(count));
  config.blockDim = dim3(kTile);
  config.stream = stream;
  HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, launched_kernel, slots.slots,
                                       static_cast<const Program*>(on_device_[static_cast<size_t>(program)]),
                                       packets_));
  HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void CudaDevice::patch(int program, int node, size_t offset, std::span<const std::byte> bytes) {
  const std::lock_guard lock(copying_);
  auto* table = static_cast<std::byte*>(const_cast<void*>(programs_[static_cast<size_t>(program)].nodes[node].table));
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kPatchBytes);
    std::memcpy(staging_, bytes.data(), n);
    copy(table + offset, staging_, n, cudaMemcpyHostToDevice);
    offset += n;
    bytes = bytes.subspan(n);
  }
}

std::pair<uint64_t, uint64_t> CudaDevice::counts(int program, int node) {
  const std::lock_guard lock(copying_);
  const auto* from = programs_[static_cast<size_t>(program)].nodes[node].counts;
  copy(staging_, from, 2 * sizeof(uint64_t), cudaMemcpyDeviceToHost);
  uint64_t counts[2];
  std::memcpy(counts, staging_, sizeof counts);
  return {counts[0], counts[1]};
}

std::string CudaDevice::failure() {
  const cudaError_t state = cudaStreamQuery(kernel_stream_);
  if (state == cudaErrorNotReady) return {};
  if (state != cudaSuccess)
    return format("%s stopped: %s (%s); the packets on it are lost. Run again with --device cpu, and report the chain",
                  info_.name.c_str(), cudaGetErrorString(state), cudaGetErrorName(state));
  return persistent_ ? format("%s: the persistent kernel has ended by itself", info_.name.c_str()) : std::string();
}

void CudaDevice::stop() {
  for (auto& group : groups_)
    for (int i = 0; i < group.slots.count; ++i)
      for (uint64_t& word : group.slots.slots[i].word) __atomic_store_n(&word, kStopWord, __ATOMIC_RELEASE);
  cudaStreamSynchronize(kernel_stream_);
  persistent_ = false;
}

}  // namespace

#ifndef HEDDLE_SIMT
std::vector<DeviceInfo> devices(std::string& reason) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  std::vector<DeviceInfo> list;
  if (error != cudaSuccess) {
    reason = format("%s (%s); is an NVIDIA driver for CUDA 13 installed and the GPU visible to nvidia-smi?",
                    cudaGetErrorString(error), cudaGetErrorName(error));
    return list;
  }
  if (count == 0) reason = "the driver shows no device; see nvidia-smi";
  for (int i = 0; i < count; ++i) list.push_back(describe(i));
  return list;
}
#endif

std::unique_ptr<Device> open(int index) { return std::make_unique<CudaDevice>(index); }

}  // namespace HEDDLE_GPU_BACKEND

#ifdef HEDDLE_SIMT
namespace {
template <int... ids>
int find_function(std::string_view class_name, std::integer_sequence<int, ids...>) {
  int found = -1;
  ((class_name == Registered<ids>::kName ? found = ids : 0), ...);
  return found;
}
}  // namespace
int function_id(std::string_view class_name) {
  return find_function(class_name, std::make_integer_sequence<int, kFunctions>());
}
#endif

}  // namespace heddle::gpu
