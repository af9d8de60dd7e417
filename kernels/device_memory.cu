#include <string.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/check.h"
#include "kernels/device_memory.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {
namespace {

constexpr size_t kStagingBytes = 1 << 20;
constexpr int kPatchThreads = 256;

/** A word of a table that changes. */
struct WordPatch {
  uint64_t at;     ///< device address, a multiple of `bytes`
  uint64_t value;  ///< its low `bytes` count
  uint32_t bytes;  ///< 1, 2, 4 or 8
};

/** Stores scattered words, each whole, while other kernels read them. `patches`: [count], pinned. */
__global__ void __launch_bounds__(kPatchThreads) store_words(const WordPatch* patches, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const WordPatch patch = patches[i];
    if (patch.bytes == 8)
      *reinterpret_cast<volatile uint64_t*>(patch.at) = patch.value;
    else if (patch.bytes == 4)
      *reinterpret_cast<volatile uint32_t*>(patch.at) = static_cast<uint32_t>(patch.value);
    else if (patch.bytes == 2)
      *reinterpret_cast<volatile uint16_t*>(patch.at) = static_cast<uint16_t>(patch.value);
    else
      *reinterpret_cast<volatile uint8_t*>(patch.at) = static_cast<uint8_t>(patch.value);
  }
}

constexpr double kMegabyte = 1e6;

/** Why there is no room for `bytes` more on the current device, and what to do. */
std::string out_of_memory(size_t bytes, [[maybe_unused]] int device) {
  size_t available = 0, total = 0;
  HEDDLE_CUDA_CHECK(cudaMemGetInfo(&available, &total));
#ifndef HEDDLE_SIMT
  // What has been given back stays with the pool.
  cudaMemPool_t pool{};
  uint64_t reserved = 0, used = 0;
  HEDDLE_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  HEDDLE_CUDA_CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  HEDDLE_CUDA_CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  available += reserved - used;
#endif
  const auto megabytes = [](size_t of) { return static_cast<double>(of) / kMegabyte; };
  return format(
      "out of memory: %.1f MB more are wanted, and %.1f of %.1f MB are free; use smaller tables, of which one that is "
      "replaced lies there twice meanwhile, fewer packets or another device",
      megabytes(bytes), megabytes(available), megabytes(total));
}

}  // namespace

DeviceMemory::DeviceMemory(int device) : device_(device), pinned_(Arena::kPinned) {
  HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
#ifndef HEDDLE_SIMT
  // cudaFree would wait for resident kernels, and so would a pool that gives memory back to the system.
  cudaMemPool_t pool{};
  HEDDLE_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  uint64_t keep = ~uint64_t{0};
  HEDDLE_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
#endif
  staging_ = pinned_.take<std::byte>(kStagingBytes);
  // Loads the kernel, too: a first launch behind a resident kernel would block until that ends.
  cudaFuncAttributes attributes{};
  HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(store_words)));
  patch_registers_ = attributes.numRegs;
}

DeviceMemory::~DeviceMemory() {
  for (const std::span<std::byte> table : tables_)
    if (table.data() != nullptr) cudaMemsetAsync(table.data(), 0, table.size(), stream_);
  for (void* memory : taken_) cudaFreeAsync(memory, stream_);
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
}

void DeviceMemory::finish() const { HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

std::byte* DeviceMemory::take(size_t bytes) {
  void* at = nullptr;
  const cudaError_t error = cudaMallocAsync(&at, std::max<size_t>(bytes, 1), stream_);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // it is said here
    throw Error(out_of_memory(bytes, device_));
  }
  HEDDLE_CUDA_CHECK(error);
  taken_.insert(at);
  return static_cast<std::byte*>(at);
}

void DeviceMemory::give_back(void* at) {
  taken_.erase(at);
  HEDDLE_CUDA_CHECK(cudaFreeAsync(at, stream_));
}

void DeviceMemory::write(void* to, std::span<const std::byte> bytes) {
  for (auto* at = static_cast<std::byte*>(to); !bytes.empty();) {
    const size_t n = std::min(bytes.size(), kStagingBytes);
    std::memcpy(staging_, bytes.data(), n);
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(at, staging_, n, cudaMemcpyHostToDevice, stream_));
    finish();
    ::explicit_bzero(staging_, n);
    at += n;
    bytes = bytes.subspan(n);
  }
}

void DeviceMemory::wipe(std::span<std::byte> memory) {
  // Not cudaMemsetAsync, which may be a kernel, for which there may be no room beside resident ones.
  std::memset(staging_, 0, std::min(memory.size(), kStagingBytes));
  for (; !memory.empty(); memory = memory.subspan(std::min(memory.size(), kStagingBytes)))
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(memory.data(), staging_, std::min(memory.size(), kStagingBytes),
                                      cudaMemcpyHostToDevice, stream_));
  finish();
}

void DeviceMemory::read(std::span<std::byte> to, const void* from) {
  for (const auto* at = static_cast<const std::byte*>(from); !to.empty();) {
    const size_t n = std::min(to.size(), kStagingBytes);
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(staging_, at, n, cudaMemcpyDeviceToHost, stream_));
    finish();
    std::memcpy(to.data(), staging_, n);
    at += n;
    to = to.subspan(n);
  }
}

void DeviceMemory::clear(void* at, size_t bytes) {
  HEDDLE_CUDA_CHECK(cudaMemsetAsync(at, 0, bytes, stream_));
  finish();
}

TableId DeviceMemory::add_table(std::span<const std::byte> bytes) {
  tables_.emplace_back(take(bytes.size()), bytes.size());
  write(tables_.back().data(), bytes);
  return static_cast<TableId>(tables_.size() - 1);
}

void DeviceMemory::patch(TableId table, size_t offset, std::span<const std::byte> bytes) {
  write(tables_[static_cast<size_t>(table)].data() + offset, bytes);
}

void DeviceMemory::patch_words(TableId table, std::span<const TableWord> words) {
  auto* patches = reinterpret_cast<WordPatch*>(staging_);
  constexpr size_t kAtOnce = kStagingBytes / sizeof(WordPatch);
  const auto base = reinterpret_cast<uint64_t>(address(table));
  while (!words.empty()) {
    const size_t n = std::min(words.size(), kAtOnce);
    for (size_t i = 0; i < n; ++i) patches[i] = {base + words[i].offset, words[i].value, words[i].bytes};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(kPatchThreads);
    config.stream = stream_;
    HEDDLE_CUDA_CHECK(
        cudaLaunchKernelEx(&config, store_words, static_cast<const WordPatch*>(patches), static_cast<uint32_t>(n)));
    finish();
    ::explicit_bzero(staging_, n * sizeof(WordPatch));
    words = words.subspan(n);
  }
}

void DeviceMemory::remove_table(TableId table) {
  std::span<std::byte>& memory = tables_[static_cast<size_t>(table)];
  wipe(memory);  // if this fails, the destructor tries again
  give_back(std::exchange(memory, {}).data());
}

StateId DeviceMemory::add_state(size_t bytes) {
  states_.push_back(take(bytes));
  clear(states_.back(), bytes);
  return static_cast<StateId>(states_.size() - 1);
}

StateId DeviceMemory::add(SharedState state) {
  std::byte* const at = state.base();
  shared_.emplace(at, std::move(state));
  states_.push_back(at);
  return static_cast<StateId>(states_.size() - 1);
}

StateId DeviceMemory::add_shared_state(size_t bytes) {
  const StateId state = add(SharedState(device_, bytes));
  clear(states_.back(), bytes);
  return state;
}

StateId DeviceMemory::open_state(memif::File file, size_t bytes) {
  return add(SharedState(device_, std::move(file), bytes));
}

void DeviceMemory::remove_state(StateId state) {
  if (shared_.erase(states_[static_cast<size_t>(state)]) > 0) {
    states_[static_cast<size_t>(state)] = nullptr;
    return;
  }
  give_back(std::exchange(states_[static_cast<size_t>(state)], nullptr));
}

Residents DeviceMemory::patcher() const {
  return {"block that patches tables", 1, kPatchThreads, (patch_registers_ + 7) / 8 * 8 * kPatchThreads,
          kReservedSharedBytes};
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
