// The CUDA side of gpu/device.h. Like every .cu of this folder it is compiled twice, by nvcc for GPUs
// and by the host compiler against simt/, into the namespaces cuda_backend and simt_backend.

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "gpu/device.h"
#include "gpu/functions.h"
#include "gpu/residency.h"
#include "kernels/arena.h"
#include "kernels/backend.h"
#include "kernels/check.h"
#include "kernels/device_info.h"
#include "kernels/device_memory.h"
#include "kernels/kernels.cuh"
#include "kernels/launch_group.h"
#include "kernels/nic_dma.h"
#include "kernels/program_layout.h"
#include "kernels/ring_sets.h"

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

void launch_kernel(size_t shape, const cudaLaunchConfig_t& config, const Serving& serving) {
  if (shape == 0) HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve<1>, serving));
  if (shape == 1) HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve<4>, serving));
  if (shape == 2) HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve<8>, serving));
}

size_t shape_of(int warps) {
  return static_cast<size_t>(std::lower_bound(kShapes, kShapes + kShapeCount, warps) - kShapes);
}

class CudaDevice final : public Device {
  void use() const { HEDDLE_CUDA_CHECK(cudaSetDevice(index_)); }
  /** What `change` returns, called by one thread at a time, with the device current. */
  template <class Change>
  auto locked(const Change& change) {
    use();
    const std::lock_guard lock(mutex_);
    return change();
  }

 public:
  explicit CudaDevice(int index) : index_(index), pinned_(Arena::kPinned), lasting_(Arena::kDevice) {
    use();
    HEDDLE_CUDA_CHECK(cudaGetDeviceProperties(&properties_, index));
    info_ = describe(index, properties_);
    // Loads all kernels now: a first launch behind a resident kernel would block until that ends.
    for (size_t shape = 0; shape < kShapeCount; ++shape) {
      const cudaFuncAttributes attributes = load(kernel_of(shape));
      shapes_[shape].registers = attributes.numRegs;
      if (shape == 0) {
        info_.kernel_registers = attributes.numRegs;
        info_.kernel_local_bytes = attributes.localSizeBytes;
      }
      shapes_[shape].static_shared_bytes = attributes.sharedSizeBytes;
      most_shared_bytes_ = properties_.sharedMemPerBlockOptin - attributes.sharedSizeBytes;
      HEDDLE_CUDA_CHECK(cudaFuncSetAttribute(kernel_of(shape), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(most_shared_bytes_)));
    }
    rings_.emplace(properties_.sharedMemPerBlockOptin);
    dma_.emplace();
    memory_.emplace(index);
    for (Shape& shape : shapes_) HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&shape.stream, cudaStreamNonBlocking));
  }
  ~CudaDevice() override {
    stop();
    cudaSetDevice(index_);
    rings_.reset(), dma_.reset();
    for (void* memory : shared_) cudaHostUnregister(memory);
    groups_.clear();
    for (const Shape& shape : shapes_) cudaStreamDestroy(shape.stream);
    memory_.reset();
  }

  const DeviceInfo& info() const override { return info_; }

  PacketMemory packet_memory(size_t bytes) override {
    use();
    if (bytes > kNoPacket) throw Error("packet memory: at most 512 GiB");
    share_packet_memory({reinterpret_cast<std::byte*>(pinned_.take<uint8_t>(bytes)), bytes});
    return {reinterpret_cast<std::byte*>(places_.packets), bytes};
  }
  void share_packet_memory(PacketMemory memory) override {
    places_.packets = reinterpret_cast<uint8_t*>(memory.base);
    packet_bytes_ = memory.bytes;
  }

  TableId add_table(std::span<const std::byte> bytes) override {
    return locked([&] { return memory_->add_table(bytes); });
  }
  void patch(TableId table, size_t offset, std::span<const std::byte> bytes) override {
    locked([&] { memory_->patch(table, offset, bytes); });
  }
  void patch_words(TableId table, std::span<const TableWord> words) override {
    locked([&] { memory_->patch_words(table, words); });
  }
  void remove_table(TableId table) override {
    locked([&] { memory_->remove_table(table); });
  }
  StateId add_state(size_t bytes) override {
    return locked([&] { return memory_->add_state(bytes); });
  }
  void read_state(StateId state, size_t offset, std::span<std::byte> to) override {
    locked([&] { memory_->read(to, static_cast<const std::byte*>(memory_->address(state)) + offset); });
  }
  ProgramId add_program(const ProgramSpec& spec) override;
  const Program* address(ProgramId program) const override { return programs_[static_cast<size_t>(program)].at; }
  void remove_program(ProgramId program) override;
  void limit_gathers(uint64_t bytes) override;
  SlotGroup add_slots(ProgramId program, int count, int streams) override;
  void start(int spare, size_t shared_bytes) override;
  void share(SharedMemory memory) override;
  bool unshare(SharedMemory memory) override;
  void* address(TableId table) const override { return memory_->address(table); }
  void* address(StateId state) const override { return memory_->address(state); }
  RingsId add_rings(ProgramId program, int pairs, RingKind kind, int workers) override;
  void start_rings(RingsId rings, const RingLaunch& launch) override;
  std::vector<RingStop> stop_rings(RingsId rings) override;
  RingFault ring_fault(RingsId rings) const override { return rings_->fault(rings); }
  DmaId add_dma() override {
    return locked([&] { return dma_->add(); });
  }
  void start_dma(DmaId dma, const softnic::Transfer& transfer) override {
    use();
    dma_->start(dma, transfer);
  }
  void copy_packets(const SlotGroup& group, std::span<const PacketBytes> bytes, bool to_gpu, int stream) override;
  void make_graphs(const SlotGroup& group, ProgramId program, int count) override;
  void launch(const SlotGroup& group, ProgramId program, int first, int count, int stream) override;
  bool idle(const SlotGroup& group, int stream) override;
  void wait(const SlotGroup& group, int stream) override;
  std::string failure() override;
  bool is_dead() override { return !death().empty(); }
  void fail(const std::string& reason) override {
    const std::lock_guard lock(mutex_);
    failure_ = reason;
  }
  void stop() override;

 private:
  /** "", or of what its kernels have died. */
  std::string death();
  struct ProgramRecord {
    ProgramLayout layout;
    Program* at;  // device; null: removed
    size_t shape;
    bool on_twins;
  };
  /** Blocks with a number of warps: a kernel. */
  struct Shape {
    int registers = 0;  // of a thread
    size_t static_shared_bytes = 0;
    cudaStream_t stream{};
    std::vector<Assignment> assignments;
    size_t shared_bytes = 0;
    size_t launched_shared_bytes = 0;  // of the blocks of launches
    bool launched = false;
    Slot* spare = nullptr;
    int spare_left = 0;
    Assignment* on_device = nullptr;  // the assignments, once start() has been called
    bool resident = false;
  };

  cudaFuncAttributes load(const void* kernel) {
    cudaFuncAttributes attributes{};
    HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    return attributes;
  }
  /** What `blocks` blocks of a shape need; `what`: that they serve, for messages. */
  Residents residents_of(size_t shape, int blocks, size_t shared_bytes, const char* what) const {
    constexpr size_t kReservedByCuda = 1024;  // of shared memory, a block
    const int warps = kShapes[shape], threads = warps * kLanes;
    return {format("%s of %d warp%s", what, warps, warps == 1 ? "" : "s"), blocks, threads,
            (shapes_[shape].registers + 7) / 8 * 8 * threads,
            shared_bytes + shapes_[shape].static_shared_bytes + kReservedByCuda};
  }
  /** Makes the twins of the packets, if there are none yet. */
  void make_twins();
  LaunchGroup& group_of(const SlotGroup& slots);
  /** Launches slots with this program. */
  LaunchGroup::Launch launcher(ProgramId id);
  Slot* take_slots(int count, size_t column_words);
  /** Gives `count` slots, a group, to blocks of `shape`. */
  void assign(Shape& shape, Slot* slots, int count);
  /** Makes spare slots, and puts the assignments on the device if all fits there at once. */
  void place(int spare, size_t shared_bytes);

  const int index_;
  cudaDeviceProp properties_{};
  DeviceInfo info_;
  Arena pinned_, lasting_;
  std::optional<DeviceMemory> memory_;
  PacketPlaces places_{};
  size_t packet_bytes_ = 0;
  std::mutex mutex_;                    // guards all but places_ and what launch() and start_dma() use
  std::deque<ProgramRecord> programs_;  // as groups_
  std::deque<LaunchGroup> groups_;      // a group's thread keeps using its own while others are added
  std::array<Shape, kShapeCount> shapes_;
  std::optional<RingSets> rings_;
  std::optional<NicDma> dma_;
  std::vector<void*> shared_;     // host memory that is registered
  size_t most_shared_bytes_ = 0;  // dynamic, of a block
  bool started_ = false;          // with resident kernels, whose spare slots are what is left
  std::string failure_;           // that fail() has been told
};

void CudaDevice::make_twins() {
  if (places_.twins != nullptr) return;
  try {
    places_.twins = lasting_.take<uint8_t>(packet_bytes_);
  } catch (const Error& error) {
    throw Error(format("%s: no room for %zu MB of packets (%s); use --transport direct, or fewer packets (--packets)",
                       info_.name.c_str(), packet_bytes_ >> 20, error.what()));
  }
  places_.gate = lasting_.take<Gate>(1);
  limit_gathers(0);
}

void CudaDevice::limit_gathers(uint64_t bytes) {
  use();
  Gate gate;
  if (bytes > 0) gate.limit = gate.search.limit = bytes, gate.search.fixed = true;
  memory_->write(places_.gate, std::as_bytes(std::span(&gate, 1)));
}

ProgramId CudaDevice::add_program(const ProgramSpec& spec) {
  use();
  const std::lock_guard lock(mutex_);
  if (spec.copies.any() || spec.on_twins) make_twins();
  ProgramRecord record{lay_out(spec, sizeof(TileCopy),
                               {[this](TableId table) { return memory_->address(table); },
                                [this](StateId state) { return memory_->address(state); }}),
                       nullptr, shape_of(spec.warps()), spec.on_twins};
  const size_t wanted = record.layout.shared_bytes;
  if (const size_t most = shapes_[record.shape].resident ? shapes_[record.shape].shared_bytes : most_shared_bytes_;
      wanted > most)
    throw Error(
        format("a GPU segment wants %zu bytes of shared memory, a block has %zu; place one of its elements with "
               "DEVICE cpu",
               wanted, most));
  record.at = reinterpret_cast<Program*>(memory_->take(sizeof(Program)));
  memory_->write(record.at, std::as_bytes(std::span(&record.layout.program, 1)));
  programs_.push_back(record);
  return static_cast<ProgramId>(programs_.size() - 1);
}

void CudaDevice::remove_program(ProgramId program) {
  use();
  const std::lock_guard lock(mutex_);
  ProgramRecord& record = programs_[static_cast<size_t>(program)];
  memory_->give_back(std::exchange(record.at, nullptr));
}

Slot* CudaDevice::take_slots(int count, size_t column_words) {
  auto* slots = pinned_.take<Slot>(static_cast<size_t>(count));
  auto* columns = pinned_.take<uint32_t>(std::max<size_t>(1, static_cast<size_t>(count) * column_words * kSlotPackets));
  for (int i = 0; i < count; ++i) slots[i].columns = columns + static_cast<size_t>(i) * column_words * kSlotPackets;
  return slots;
}

void CudaDevice::assign(Shape& shape, Slot* slots, int count) {
  auto* wakes = lasting_.take<uint32_t>(static_cast<size_t>(count));
  memory_->clear(wakes, static_cast<size_t>(count) * sizeof(uint32_t));
  for (int i = 0; i < count; ++i)
    shape.assignments.push_back({slots + i, wakes, static_cast<uint32_t>(i), static_cast<uint32_t>(count)});
}

SlotGroup CudaDevice::add_slots(ProgramId id, int count, int streams) {
  use();
  const std::lock_guard lock(mutex_);
  const ProgramRecord& program = programs_[static_cast<size_t>(id)];
  Shape& shape = shapes_[program.shape];
  Slot* slots = nullptr;
  if (started_) {
    if (streams > 0) throw Error(info_.name + ": slots with streams cannot be added beside resident kernels");
    if (count > shape.spare_left || program.layout.column_words > kSpareColumnWords)
      throw Error(format("%s: %d more slots of %d warps, but %d are spare", info_.name.c_str(), count,
                         kShapes[program.shape], shape.spare_left));
    slots = shape.spare;
    shape.spare += count;
    shape.spare_left -= count;
  } else {
    slots = take_slots(count, program.layout.column_words);
    if (streams == 0) {
      assign(shape, slots, count);
      shape.shared_bytes = std::max(shape.shared_bytes, program.layout.shared_bytes);
    } else {
      shape.launched = true;
      shape.launched_shared_bytes = std::max(shape.launched_shared_bytes, program.layout.shared_bytes);
    }
  }
  const SlotGroup group{slots, count, program.layout.program.wide_results};
  if (streams > 0) groups_.emplace_back(group, streams);
  return group;
}

void CudaDevice::place(int spare, size_t shared_bytes) {
  const Multiprocessor each{properties_.maxBlocksPerMultiProcessor, properties_.maxThreadsPerMultiProcessor,
                            properties_.regsPerMultiprocessor, properties_.sharedMemPerMultiprocessor};
  std::vector<Residents> residents = rings_->residents();
  for (Residents& engines : dma_->residents()) residents.push_back(std::move(engines));
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
  if (residents.empty()) return;
  // A launch beside resident kernels needs a place for one block at least.
  for (size_t s = 0; s < kShapeCount; ++s)
    if (shapes_[s].launched) residents.push_back(residents_of(s, 1, shapes_[s].launched_shared_bytes, "launches"));
  residents.push_back(memory_->patcher());
  if (const std::string problem = residency_problem(residents, each, info_.multiprocessors); !problem.empty())
    throw Error(info_.name + ": " + problem + "; use fewer threads or --slots");
  for (Shape& shape : shapes_) {
    if (shape.assignments.empty()) continue;
    shape.on_device = lasting_.take<Assignment>(shape.assignments.size());
    memory_->write(shape.on_device, std::as_bytes(std::span(shape.assignments)));
  }
}

void CudaDevice::start(int spare, size_t shared_bytes) {
  use();
  const std::lock_guard lock(mutex_);
  if (std::all_of(shapes_.begin(), shapes_.end(), [](auto& shape) { return shape.on_device == nullptr; }))
    place(spare, shared_bytes);
  for (size_t s = 0; s < kShapeCount; ++s) {
    Shape& shape = shapes_[s];
    if (shape.on_device == nullptr) continue;
    for (const Assignment& assignment : shape.assignments) {
      std::memset(assignment.slot->word, 0, sizeof assignment.slot->word);
      std::memset(&assignment.slot->result, 0, sizeof assignment.slot->result);
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(shape.assignments.size()));
    config.blockDim = dim3(static_cast<unsigned>(kShapes[s] * kLanes));
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = shape.stream;
    started_ = true;
    launch_kernel(s, config, {shape.on_device, nullptr, places_});
    shape.resident = true;
  }
}

void CudaDevice::share(SharedMemory memory) {
  use();
  const std::lock_guard lock(mutex_);
  const cudaError_t error =
      cudaHostRegister(memory.base, memory.bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
  if (error == cudaErrorHostMemoryAlreadyRegistered) {  // for all devices
    cudaGetLastError();
    return;
  }
  HEDDLE_CUDA_CHECK(error);
  shared_.push_back(memory.base);
}

bool CudaDevice::unshare(SharedMemory memory) {
  use();
  const std::lock_guard lock(mutex_);
  if (rings_->running() || std::any_of(shapes_.begin(), shapes_.end(), [](auto& shape) { return shape.resident; }))
    return false;
  if (const auto found = std::find(shared_.begin(), shared_.end(), memory.base); found != shared_.end()) {
    HEDDLE_CUDA_CHECK(cudaHostUnregister(memory.base));
    shared_.erase(found);
  }
  return true;
}

RingsId CudaDevice::add_rings(ProgramId program, int pairs, RingKind kind, int workers) {
  use();
  const std::lock_guard lock(mutex_);
  return rings_->add(programs_[static_cast<size_t>(program)].layout.shared_bytes, pairs, kind, workers);
}

void CudaDevice::start_rings(RingsId rings, const RingLaunch& launch) {
  use();
  const std::lock_guard lock(mutex_);
  rings_->start(rings, launch, programs_[static_cast<size_t>(launch.program)].at,
                static_cast<RingCount*>(memory_->address(launch.drops)));
}

std::vector<RingStop> CudaDevice::stop_rings(RingsId rings) {
  use();
  const std::lock_guard lock(mutex_);
  return rings_->stop(rings);
}

LaunchGroup& CudaDevice::group_of(const SlotGroup& slots) {
  const std::lock_guard lock(mutex_);
  for (LaunchGroup& group : groups_)
    if (group.slots().slots == slots.slots) return group;
  throw Error("no such group of slots");
}

LaunchGroup::Launch CudaDevice::launcher(ProgramId id) {
  const std::lock_guard lock(mutex_);
  const ProgramRecord& program = programs_[static_cast<size_t>(id)];
  return [this, &program](Slot* slots, int count, cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.stream = stream;
    config.gridDim = dim3(static_cast<unsigned>(count));
    config.blockDim = dim3(static_cast<unsigned>(kShapes[program.shape] * kLanes));
    config.dynamicSmemBytes = program.layout.shared_bytes;
    PacketPlaces places = places_;
    if (program.on_twins) places.packets = places.twins;
    launch_kernel(program.shape, config, {nullptr, slots, places});
  };
}

void CudaDevice::copy_packets(const SlotGroup& slots, std::span<const PacketBytes> bytes, bool to_gpu, int stream) {
  use();
  group_of(slots).copy(places_, bytes, to_gpu, stream);
}

void CudaDevice::make_graphs(const SlotGroup& slots, ProgramId program, int count) {
  use();
  group_of(slots).make_graphs(count, launcher(program));
}

void CudaDevice::launch(const SlotGroup& slots, ProgramId program, int first, int count, int stream) {
  use();
  group_of(slots).launch(first, count, stream, launcher(program));
}

bool CudaDevice::idle(const SlotGroup& slots, int stream) {
  use();
  return group_of(slots).idle(stream);
}

void CudaDevice::wait(const SlotGroup& slots, int stream) {
  use();
  group_of(slots).wait(stream);
}

std::string CudaDevice::failure() {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return failure_;
  }
  return death();
}

std::string CudaDevice::death() {
  if (cudaSetDevice(index_) != cudaSuccess) return info_.name + " cannot be used any more";
  for (const Shape& shape : shapes_) {
    const cudaError_t state = cudaStreamQuery(shape.stream);
    if (state == cudaErrorNotReady) continue;
    if (state != cudaSuccess)
      return format(
          "%s stopped: %s (%s); the packets on it are lost. Run again with --device cpu, and report the chain",
          info_.name.c_str(), cudaGetErrorString(state), cudaGetErrorName(state));
    if (shape.resident) return format("%s: the persistent kernel has ended by itself", info_.name.c_str());
    if (started_ && shape.on_device != nullptr) return info_.name + ": the persistent kernel could not be started";
  }
  if (const cudaError_t state = rings_->state(); state != cudaSuccess)
    return format("%s stopped driving rings: %s (%s). Run again without GPU ports, and report the chain",
                  info_.name.c_str(), cudaGetErrorString(state), cudaGetErrorName(state));
  return {};
}

void CudaDevice::stop() {
  cudaSetDevice(index_);
  for (Shape& shape : shapes_) {
    if (!shape.resident) continue;
    for (const Assignment& assignment : shape.assignments)
      for (uint64_t& word : assignment.slot->word) __atomic_store_n(&word, kStopWord, __ATOMIC_RELEASE);
    cudaStreamSynchronize(shape.stream);
    shape.resident = false;
  }
  if (rings_) rings_->stop_all();
  started_ = false;
}

}  // namespace
std::unique_ptr<Device> open(int index) { return std::make_unique<CudaDevice>(index); }

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
