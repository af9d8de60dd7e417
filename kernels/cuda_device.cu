// The CUDA side of gpu/device.h. Like every .cu of this folder it is compiled twice, by nvcc for GPUs
// and by the host compiler against simt/, into the namespaces cuda_backend and simt_backend.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "core/error.h"
#include "gpu/device.h"
#include "kernels/arena.h"
#include "kernels/backend.h"
#include "kernels/check.h"
#include "kernels/device_info.h"
#include "kernels/device_memory.h"
#include "kernels/launch_group.h"
#include "kernels/nic_dma.h"
#include "kernels/program_layout.h"
#include "kernels/resident_kernels.h"
#include "kernels/ring_sets.h"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {
namespace {

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
    HEDDLE_CUDA_CHECK(cudaGetDeviceProperties(&properties_, index));
    info_ = describe(index, properties_);
    make_context();
    memory_.emplace(index);
    kernels_.emplace(properties_, info_.name, *memory_);
    info_.kernel_registers = kernels_->registers();
    info_.kernel_local_bytes = kernels_->local_bytes();
    rings_.emplace(properties_.sharedMemPerBlockOptin);
    dma_.emplace();
  }
  ~CudaDevice() override {
    stop();
    cudaSetDevice(index_);
    rings_.reset(), dma_.reset();
    for (void* memory : shared_) cudaHostUnregister(memory);
    groups_.clear();
    kernels_.reset();
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
  StateId add_shared_state(size_t bytes) override {
    return locked([&] { return memory_->add_shared_state(bytes); });
  }
  StateId open_state(memif::File file, size_t bytes) override {
    return locked([&] { return memory_->open_state(std::move(file), bytes); });
  }
  int file(StateId state) const override { return memory_->file(state); }
  void write_state(StateId state, size_t offset, std::span<const std::byte> bytes) override {
    locked([&] { memory_->write(static_cast<std::byte*>(memory_->address(state)) + offset, bytes); });
  }
  void read_state(StateId state, size_t offset, std::span<std::byte> to) override {
    locked([&] { memory_->read(to, static_cast<const std::byte*>(memory_->address(state)) + offset); });
  }
  void remove_state(StateId state) override {
    locked([&] { memory_->remove_state(state); });
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
  RingsId add_rings(ProgramId program, int pairs, RingKind kind, int workers, uint32_t capacity, bool split) override;
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
  void make_graphs(const SlotGroup& group, ProgramId program) override;
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
  /** The first call that wants something of the device. */
  void make_context() const;
  /** "", or of what its kernels have died. */
  std::string death();
  struct ProgramRecord {
    ProgramLayout layout;
    Program* at;  // device; null: removed
    size_t shape;
    bool on_twins;
  };
  /** Finds room for all that is going to be resident, with `spare` slots as start() has it. */
  void make_room(int spare, size_t shared_bytes);
  /** "", or why the streams of this device would wait for kernels that stay, of which there are some. */
  std::string streams_problem(size_t rings) const;
  /** Makes the twins of the packets, or the gate, if there are none yet. */
  void make_twins();
  void make_gate();
  LaunchGroup& group_of(const SlotGroup& slots);
  /** How slots with this program are launched. */
  SlotLaunch launch_of(ProgramId id);

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
  std::optional<ResidentKernels> kernels_;
  std::optional<RingSets> rings_;
  std::optional<NicDma> dma_;
  std::vector<void*> shared_;  // host memory that is registered
  std::string failure_;        // that fail() has been told
};

void CudaDevice::make_context() const {
  const cudaError_t error = cudaSetDevice(index_);
  if (error == cudaErrorDevicesUnavailable)
    throw Error(
        format("%s: %s (%s): another process has it for itself, or its compute mode lets none in; end that "
               "process (nvidia-smi lists them), set the mode with 'nvidia-smi -c DEFAULT' as root, or run with "
               "another --device, or --device cpu",
               info_.name.c_str(), cudaGetErrorString(error), cudaGetErrorName(error)));
  HEDDLE_CUDA_CHECK(error);
}

void CudaDevice::make_twins() {
  if (places_.twins != nullptr) return;
  try {
    places_.twins = lasting_.take<uint8_t>(packet_bytes_);
  } catch (const Error& error) {
    throw Error(format("%s: no room for %zu MB of packets (%s); use --transport direct, or fewer packets (--packets)",
                       info_.name.c_str(), packet_bytes_ >> 20, error.what()));
  }
  make_gate();
}

void CudaDevice::make_gate() {
  if (places_.gate != nullptr) return;
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
  ProgramRecord record{lay_out(spec, sizeof(TileCopy),
                               {[this](TableId table) { return memory_->address(table); },
                                [this](StateId state) { return memory_->address(state); }}),
                       nullptr, ResidentKernels::shape_of(spec.warps()), spec.on_twins};
  const size_t wanted = record.layout.shared_bytes;
  if (const size_t most = kernels_->most_shared_bytes(record.shape); wanted > most)
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

SlotGroup CudaDevice::add_slots(ProgramId id, int count, int streams) {
  use();
  const std::lock_guard lock(mutex_);
  const ProgramRecord& program = programs_[static_cast<size_t>(id)];
  if (program.layout.program.has(Program::kCopies) || program.on_twins) make_twins();
  Slot* slots =
      kernels_->add_slots(program.shape, count, streams > 0, program.layout.column_words, program.layout.shared_bytes);
  const SlotGroup group{slots, count, program.layout.program.has(Program::kWideResults)};
  if (streams > 0) groups_.emplace_back(group, streams);
  return group;
}

void CudaDevice::start(int spare, size_t shared_bytes) {
  use();
  const std::lock_guard lock(mutex_);
  if (!kernels_->settled()) make_room(spare, shared_bytes);
  kernels_->start(places_);
}

std::string CudaDevice::streams_problem([[maybe_unused]] size_t rings) const {
#ifdef HEDDLE_SIMT
  return "";  // each stream has a thread
#else
  size_t streams = 2 + kernels_->streams() + rings + dma_->streams();  // CUDA's own, and that of copies and patches
  for (const LaunchGroup& group : groups_) streams += group.streams();
  constexpr int kMost = 32, kUnlessSaid = 8;  // of CUDA
  const char* const said = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return queue_problem(streams, static_cast<size_t>(std::clamp(said != nullptr ? atoi(said) : kUnlessSaid, 1, kMost)));
#endif
}

void CudaDevice::make_room(int spare, size_t shared_bytes) {
  const auto add = [](std::vector<Residents>& all, const std::vector<Residents>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  std::vector<Residents> all = rings_->residents();
  const size_t rings = all.size();
  add(all, kernels_->prepare(spare, shared_bytes));
  if (all.empty() && dma_->residents().empty()) return;
  if (const std::string problem = all.empty() ? "" : streams_problem(rings); !problem.empty())
    throw Error(info_.name + ": " + problem + "; use fewer GPU ports, or fewer threads that launch kernels");
  add(all, kernels_->launches());  // which want a place for one block at least
  const bool beside_others = !are_alike(all);
  add(all, {memory_->patcher()});  // which wants no more shared memory than any; nor do DMA engines
  const Multiprocessor each{properties_.maxBlocksPerMultiProcessor, properties_.maxThreadsPerMultiProcessor,
                            properties_.regsPerMultiprocessor, properties_.sharedMemPerMultiprocessor};
  const int multiprocessors = properties_.multiProcessorCount;
  std::vector<Residents> with_large_engines = all;
  add(with_large_engines, dma_->residents());
  if (!residency_problem(with_large_engines, each, multiprocessors).empty()) dma_->use_small_blocks();
  add(all, dma_->residents());
  if (const std::string problem = find_room(all, each, multiprocessors); !problem.empty())
    throw Error(info_.name + ": " + problem + "; use fewer threads or slots" +
                (rings > 0 ? ", or at GPU ports fewer QUEUES, a smaller WARP_BATCH or KERNELS fused" : ""));
  rings_->settle(std::span(all).first(rings), beside_others);
  kernels_->settle(beside_others);
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
  if (rings_->running() || kernels_->running()) return false;
  if (const auto found = std::find(shared_.begin(), shared_.end(), memory.base); found != shared_.end()) {
    HEDDLE_CUDA_CHECK(cudaHostUnregister(memory.base));
    shared_.erase(found);
  }
  return true;
}

RingsId CudaDevice::add_rings(ProgramId program, int pairs, RingKind kind, int workers, uint32_t capacity, bool split) {
  use();
  const std::lock_guard lock(mutex_);
  const ProgramLayout& layout = programs_[static_cast<size_t>(program)].layout;
  const Copies& copies = layout.program.copies;
  if (copies.any()) make_gate();
  return rings_->add(layout.shared_bytes, pairs, kind, workers, split,
                     copies.any() ? copies.most_gathered(capacity) : 0, places_.gate);
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

SlotLaunch CudaDevice::launch_of(ProgramId id) {
  const std::lock_guard lock(mutex_);
  const ProgramRecord& program = programs_[static_cast<size_t>(id)];
  PacketPlaces places = places_;
  if (program.on_twins) places.packets = places.twins;
  return {program.shape, program.layout.shared_bytes, places};
}

void CudaDevice::copy_packets(const SlotGroup& slots, std::span<const PacketBytes> bytes, bool to_gpu, int stream) {
  use();
  group_of(slots).copy(places_, bytes, to_gpu, stream);
}

void CudaDevice::make_graphs(const SlotGroup& slots, ProgramId program) {
  use();
  group_of(slots).make_graphs(launch_of(program));
}

void CudaDevice::launch(const SlotGroup& slots, ProgramId program, int first, int count, int stream) {
  use();
  group_of(slots).launch(first, count, stream, launch_of(program));
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
  if (const std::string death = kernels_->death(); !death.empty()) return death;
  if (const cudaError_t state = rings_->state(); state != cudaSuccess)
    return format("%s stopped driving rings: %s (%s). Run again without GPU ports, and report the chain",
                  info_.name.c_str(), cudaGetErrorString(state), cudaGetErrorName(state));
  return {};
}

void CudaDevice::stop() {
  cudaSetDevice(index_);
  if (kernels_) kernels_->stop();
  if (rings_) rings_->stop_all();
}

}  // namespace
std::unique_ptr<Device> open(int index) { return std::make_unique<CudaDevice>(index); }

}  // namespace HEDDLE_GPU_BACKEND

}  // namespace heddle::gpu
