#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "gpu/functions.h"
#include "kernels/carveout.h"
#include "kernels/check.h"
#include "kernels/kernels.cuh"
#include "kernels/resident_kernels.h"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {
namespace {

constexpr size_t kSpareColumnWords = 32;  ///< of a spare slot: words of 32 bits a packet

const void* kernel_of(size_t shape) {
  static_assert(kShapeCount == 3 && kShapes[0] == 1 && kShapes[1] == 4 && kShapes[2] == 8);
  const std::array<const void*, kShapeCount> kernels{reinterpret_cast<const void*>(serve<1>),
                                                     reinterpret_cast<const void*>(serve<4>),
                                                     reinterpret_cast<const void*>(serve<8>)};
  return kernels[shape];
}

dim3 threads_of(size_t shape) { return dim3(static_cast<unsigned>(kShapes[shape] * kLanes)); }

/** `blocks` blocks of a shape. */
void launch_kernel(size_t shape, size_t blocks, size_t shared_bytes, cudaStream_t stream, const Serving& serving) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = threads_of(shape);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  if (shape == 0) HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve<1>, serving));
  if (shape == 1) HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve<4>, serving));
  if (shape == 2) HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve<8>, serving));
}

}  // namespace

ResidentKernels::ResidentKernels(const cudaDeviceProp& properties, std::string name, DeviceMemory& memory)
    : name_(std::move(name)), memory_(memory), pinned_(Arena::kPinned), lasting_(Arena::kDevice), shapes_(kShapeCount) {
  // Loads all kernels now: a first launch behind a resident kernel would block until that ends.
  for (size_t s = 0; s < kShapeCount; ++s) {
    cudaFuncAttributes attributes{};
    HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel_of(s)));
    Shape& shape = shapes_[s];
    shape.registers = attributes.numRegs;
    if (s == 0) local_bytes_ = attributes.localSizeBytes;
    shape.static_shared_bytes = attributes.sharedSizeBytes;
    shape.most_shared_bytes = properties.sharedMemPerBlockOptin - attributes.sharedSizeBytes;
    HEDDLE_CUDA_CHECK(cudaFuncSetAttribute(kernel_of(s), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(shape.most_shared_bytes)));
  }
  for (Shape& shape : shapes_) HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&shape.stream, cudaStreamNonBlocking));
}

ResidentKernels::~ResidentKernels() {
  for (const Shape& shape : shapes_) cudaStreamDestroy(shape.stream);
}

size_t ResidentKernels::shape_of(int warps) {
  return static_cast<size_t>(std::lower_bound(kShapes, kShapes + kShapeCount, warps) - kShapes);
}

Residents ResidentKernels::residents_of(size_t shape, int blocks, size_t shared_bytes, const char* what) const {
  const int warps = kShapes[shape], threads = warps * kLanes;
  return {format("%s of %d warp%s", what, warps, warps == 1 ? "" : "s"), blocks, threads,
          (shapes_[shape].registers + 7) / 8 * 8 * threads,
          shared_bytes + shapes_[shape].static_shared_bytes + kReservedSharedBytes};
}

Slot* ResidentKernels::take_slots(int count, size_t column_words) {
  auto* slots = pinned_.take<Slot>(static_cast<size_t>(count));
  auto* columns = pinned_.take<uint32_t>(std::max<size_t>(1, static_cast<size_t>(count) * column_words * kSlotPackets));
  for (int i = 0; i < count; ++i) slots[i].columns = columns + static_cast<size_t>(i) * column_words * kSlotPackets;
  return slots;
}

void ResidentKernels::assign(Shape& shape, Slot* slots, int count) {
  auto* wakes = lasting_.take<uint32_t>(static_cast<size_t>(count));
  memory_.clear(wakes, static_cast<size_t>(count) * sizeof(uint32_t));
  for (int i = 0; i < count; ++i)
    shape.assignments.push_back({slots + i, wakes, static_cast<uint32_t>(i), static_cast<uint32_t>(count)});
}

Slot* ResidentKernels::add_slots(size_t s, int count, bool launched, size_t column_words, size_t shared_bytes) {
  Shape& shape = shapes_[s];
  if (started_) {
    if (launched) throw Error(name_ + ": slots with streams cannot be added beside resident kernels");
    if (count > shape.spare_left || column_words > kSpareColumnWords)
      throw Error(format("%s: %d more slots of %d warps, but %d are spare", name_.c_str(), count, kShapes[s],
                         shape.spare_left));
    shape.spare_left -= count;
    return std::exchange(shape.spare, shape.spare + count);
  }
  Slot* slots = take_slots(count, column_words);
  if (launched) {
    shape.launched = true;
    shape.launched_shared_bytes = std::max(shape.launched_shared_bytes, shared_bytes);
  } else {
    assign(shape, slots, count);
    shape.shared_bytes = std::max(shape.shared_bytes, shared_bytes);
  }
  return slots;
}

bool ResidentKernels::settled() const {
  return std::ranges::any_of(shapes_, [](auto& shape) { return shape.on_device != nullptr; });
}

std::vector<Residents> ResidentKernels::prepare(int spare, size_t shared_bytes) {
  std::vector<Residents> residents;
  for (size_t s = 0; s < kShapeCount; ++s) {
    Shape& shape = shapes_[s];
    if (shape.assignments.empty()) continue;
    shape.shared_bytes = std::max(shape.shared_bytes, shared_bytes);
    shape.spare = take_slots(spare, kSpareColumnWords);
    shape.spare_left = spare;
    for (int i = 0; i < spare; ++i)
      assign(shape, shape.spare + i, 1);  // groups of their own: nobody knows whose they will be
    residents.push_back(residents_of(s, static_cast<int>(shape.assignments.size()), shape.shared_bytes, "slots"));
  }
  return residents;
}

std::vector<Residents> ResidentKernels::launches() const {
  std::vector<Residents> list;
  for (size_t s = 0; s < kShapeCount; ++s)
    if (shapes_[s].launched) list.push_back(residents_of(s, 1, shapes_[s].launched_shared_bytes, "launches"));
  return list;
}

void ResidentKernels::settle(bool beside_others) {
  for (size_t s = 0; s < kShapeCount; ++s) {
    Shape& shape = shapes_[s];
    if (shape.assignments.empty()) continue;
    set_carveout(kernel_of(s), beside_others);
    shape.on_device = lasting_.take<Assignment>(shape.assignments.size());
    memory_.write(shape.on_device, std::as_bytes(std::span(shape.assignments)));
  }
}

void ResidentKernels::start(const PacketPlaces& places) {
  for (size_t s = 0; s < kShapeCount; ++s) {
    Shape& shape = shapes_[s];
    if (shape.on_device == nullptr) continue;
    for (const Assignment& assignment : shape.assignments) {
      std::memset(assignment.slot->word, 0, sizeof assignment.slot->word);
      std::memset(&assignment.slot->result, 0, sizeof assignment.slot->result);
    }
    started_ = true;
    launch_kernel(s, shape.assignments.size(), shape.shared_bytes, shape.stream, {shape.on_device, nullptr, places});
    shape.resident = true;
  }
}

bool ResidentKernels::running() const {
  return std::ranges::any_of(shapes_, [](auto& shape) { return shape.resident; });
}

std::string ResidentKernels::death() const {
  for (const Shape& shape : shapes_) {
    const cudaError_t state = cudaStreamQuery(shape.stream);
    if (state == cudaErrorNotReady) continue;
    if (state != cudaSuccess)
      return format(
          "%s stopped: %s (%s); the packets on it are lost. Run again with --device cpu, and report the chain",
          name_.c_str(), cudaGetErrorString(state), cudaGetErrorName(state));
    if (shape.resident) return format("%s: the persistent kernel has ended by itself", name_.c_str());
    if (started_ && shape.on_device != nullptr) return name_ + ": the persistent kernel could not be started";
  }
  return {};
}

void ResidentKernels::stop() {
  for (Shape& shape : shapes_) {
    if (!shape.resident) continue;
    for (const Assignment& assignment : shape.assignments)
      for (uint64_t& word : assignment.slot->word) __atomic_store_n(&word, kStopWord, __ATOMIC_RELEASE);
    cudaStreamSynchronize(shape.stream);
    shape.resident = false;
  }
  started_ = false;
}

void ResidentKernels::launch(const SlotLaunch& how, Slot* slots, int count, cudaStream_t stream) {
  launch_kernel(how.shape, static_cast<size_t>(count), how.shared_bytes, stream, {nullptr, slots, how.places});
}

void ResidentKernels::relaunch(const SlotLaunch& how, Slot* slots, int count, cudaGraphExec_t graph,
                               cudaGraphNode_t node) {
  Serving serving{nullptr, slots, how.places};
  void* parameters[] = {&serving};
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(kernel_of(how.shape));
  kernel.gridDim = dim3(static_cast<unsigned>(count));
  kernel.blockDim = threads_of(how.shape);
  kernel.sharedMemBytes = static_cast<unsigned>(how.shared_bytes);
  kernel.kernelParams = parameters;
  HEDDLE_CUDA_CHECK(cudaGraphExecKernelNodeSetParams(graph, node, &kernel));
}

}  // namespace HEDDLE_GPU_BACKEND

#ifdef HEDDLE_SIMT
namespace {
template <int... ids>
constexpr auto all_traits(std::integer_sequence<int, ids...>) {
  return std::array<FunctionTraits, kFunctions>{Registered<static_cast<FunctionId>(ids)>::kTraits...};
}
}  // namespace
std::span<const FunctionTraits> functions() {
  static constexpr auto kAll = all_traits(std::make_integer_sequence<int, kFunctions>());
  return kAll;
}
#endif

}  // namespace heddle::gpu
