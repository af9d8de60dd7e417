#include <algorithm>
#include <utility>

#include "core/error.h"
#include "kernels/carveout.h"
#include "kernels/ring_serving.h"
#include "kernels/ring_sets.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {
namespace {

constexpr int kFewestTeams = 2;  // of a pair, with the block that finds out what has come
#ifdef HEDDLE_SIMT
// All warps of a block share one OS thread, so where there would be as many as can be there are few.
constexpr int workers_here(int workers) { return workers == kMaxRingWorkers ? 3 : workers; }
constexpr int kMaxTeamsHere = 6;  // each has one of its own
#else
constexpr int workers_here(int workers) { return workers; }
constexpr int kMaxTeamsHere = kMaxTeams;
#endif

}  // namespace

RingSets::RingSets(size_t most_shared_bytes) : pinned_(Arena::kPinned), device_(Arena::kDevice) {
  const RingKernel one[kAlike][2] = {{memif_ring_kernel(), memif_spread_ring_kernel()},
                                     {memif_copied_ring_kernel(), memif_copied_spread_ring_kernel()},
                                     {nic_ring_kernel(), nic_spread_ring_kernel()}};
  const SplitRingKernels split[kAlike] = {memif_split_ring_kernels(), memif_copied_split_ring_kernels(),
                                          nic_split_ring_kernels()};
  static_assert(static_cast<int>(RingKind::memif) == 0 && static_cast<int>(RingKind::memif_copied) == 1 &&
                static_cast<int>(RingKind::nic) == 2);
  load(routed_, routed_ring_kernel(), most_shared_bytes);
  for (int kind = 0; kind < kAlike; ++kind) {
    for (size_t k = 0; k < std::size(one[kind]); ++k) load(kernels_[kind][k], one[kind][k], most_shared_bytes);
    for (size_t k = 0; k < split[kind].size(); ++k) load(split_kernels_[kind][k], split[kind][k], most_shared_bytes);
  }
}

RingSets::~RingSets() {
  stop_all();
  for (const Set& set : sets_)
    for (const Stage& stage : set.stages) cudaStreamDestroy(stage.stream);
}

void RingSets::load(Kernel& kernel, const RingKernel& launcher, size_t most_shared_bytes) {
  cudaFuncAttributes attributes{};
  HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes, launcher.address));
  kernel.launcher = launcher;
  kernel.registers = attributes.numRegs;
  kernel.static_bytes = attributes.sharedSizeBytes;
  kernel.most_dynamic_bytes = most_shared_bytes - kernel.static_bytes;
  HEDDLE_CUDA_CHECK(cudaFuncSetAttribute(launcher.address, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(kernel.most_dynamic_bytes)));
}

RingsId RingSets::add(size_t bytes, int pairs, RingKind kind, int workers, bool split, uint32_t stage_bytes,
                      Gate* gate) {
  Set set{};
  set.count = pairs;
  set.memory_units = (bytes + 15) / 16;
  bytes = set.memory_units * 16;
  const bool routed = kind == RingKind::routed, spread = !split && workers > kMaxRingWorkers;
  if (routed && (split || spread)) throw Error("one block serves a pair of rings whose packets are routed");
  const auto& split_kernels = split_kernels_[routed ? 0 : static_cast<int>(kind)];
  const Kernel& runs = routed ? routed_ : split ? split_kernels[1] : kernels_[static_cast<int>(kind)][spread ? 1 : 0];
  const int least = split || spread ? 1 : 2;  // in a block: of one that does all, the scout takes packets as well
  const size_t fit = bytes == 0 ? kMaxRingWorkers + 1 : runs.most_dynamic_bytes / bytes;
  if (fit < static_cast<size_t>(least))
    throw Error(
        format("who serves a port's rings wants %zu bytes of shared memory, a block has %zu for at least %d; "
               "use fewer functions between the ports",
               bytes, runs.most_dynamic_bytes, least));
  // Teams are as many as a multiprocessor has registers for, or fewer if it is short of shared memory.
  const size_t at_once =
      (runs.most_dynamic_bytes + runs.static_bytes) / (bytes + runs.static_bytes + kReservedSharedBytes);
  const int teams = workers * std::clamp(static_cast<int>(at_once), 1, kTeamsAtOnce) / kTeamsAtOnce;
  set.blocks = spread ? std::clamp(teams, 1, kMaxTeamsHere) + 1 : 1;
  const int here = spread ? 1 : std::min(workers_here(workers), static_cast<int>(fit) - (split ? 0 : 1));
  const size_t dynamic_bytes = static_cast<size_t>(split || spread ? here : here + 1) * bytes;
  const auto add_stage = [&](const Kernel& kernel, const char* what, int warps, size_t bytes) {
    cudaStream_t stream{};
    HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    set.stages.push_back({&kernel, what, warps, bytes, stream});
  };
  if (split) {
    add_stage(split_kernels[0], " (receive)", here + 1, 0);
    add_stage(split_kernels[1], " (application)", here, dynamic_bytes);
    add_stage(split_kernels[2], " (transmit)", here + 1, 0);
    set.handovers = device_.take<RingHandover>(static_cast<size_t>(pairs));
    set.first_handovers = pinned_.take<RingHandover>(static_cast<size_t>(pairs));
    set.tiles = device_.take<HandedTile>(static_cast<size_t>(pairs) * kHandedTiles);
  } else {
    add_stage(runs, "", spread ? kTeamWarps : here + 2, dynamic_bytes);
  }
  if (set.blocks > 1) {
    set.boards = device_.take<FarBoard>(static_cast<size_t>(pairs));
    set.first_boards = pinned_.take<FarBoard>(static_cast<size_t>(pairs));
    set.stage_bytes = stage_bytes, set.gate = gate;
    set.stage = device_.take<uint8_t>(static_cast<size_t>(pairs * set.blocks) * kSlotPackets * stage_bytes);
  }
  if (routed) set.outputs = pinned_.take<RingOutput>(static_cast<size_t>(pairs) * kMaxOutputs);
  set.pairs = pinned_.take<RingPair>(static_cast<size_t>(pairs));
  set.controls = pinned_.take<RingControl>(static_cast<size_t>(pairs));
  sets_.push_back(std::move(set));
  return static_cast<RingsId>(sets_.size() - 1);
}

std::vector<Residents> RingSets::residents() const {
  std::vector<Residents> list;
  for (const Set& set : sets_)
    for (const Stage& stage : set.stages)
      list.push_back({(set.blocks > 1 ? format("blocks of %d ", set.count) : std::string()) +
                          format("ring pair%s of a port%s", set.count == 1 ? "" : "s", stage.what),
                      set.count * set.blocks, stage.threads(), (stage.kernel->registers + 7) / 8 * 8 * stage.threads(),
                      stage.dynamic_bytes + stage.kernel->static_bytes + kReservedSharedBytes,
                      set.blocks > 1 ? set.count : 0, set.count * kFewestTeams});
  return list;
}

void RingSets::settle(std::span<const Residents> residents, bool beside_others) {
  auto next = residents.begin();
  for (Set& set : sets_)
    for (const Stage& stage : set.stages) {
      set.blocks = (next++)->blocks / set.count;
      set_carveout(stage.kernel->launcher.address, beside_others);
    }
}

void RingSets::start(RingsId rings, const RingLaunch& launch, const Program* program, RingCount* drops) {
  Set& set = sets_[static_cast<size_t>(rings)];
  for (int i = 0; i < set.count; ++i) {
    set.pairs[i] = launch.pairs[static_cast<size_t>(i)];
    set.controls[i] = {};
  }
  set.output_count = static_cast<uint32_t>(launch.outputs.size() / static_cast<size_t>(set.count));
  std::copy(launch.outputs.begin(), launch.outputs.end(), set.outputs);
  begin(set, set.boards, set.first_boards);
  begin(set, set.handovers, set.first_handovers);
  set.running = true;
  try {
    for (const Stage& stage : set.stages) {
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(static_cast<unsigned>(set.count * set.blocks));
      config.blockDim = dim3(static_cast<unsigned>(stage.threads()));
      config.dynamicSmemBytes = stage.dynamic_bytes;
      config.stream = stage.stream;
      stage.kernel->launcher.launch(
          config, {set.pairs, set.controls, set.boards, static_cast<uint32_t>(set.blocks), set.outputs,
                   set.output_count, program, drops, launch.nodes, static_cast<uint32_t>(set.memory_units), set.stage,
                   set.stage_bytes, set.gate, set.handovers, set.tiles});
    }
  } catch (const Error&) {  // each kernel ends without those behind it
    stop(rings);
    throw;
  }
}

std::vector<RingStop> RingSets::stop(RingsId rings) {
  Set& set = sets_[static_cast<size_t>(rings)];
  std::vector<RingStop> stops;
  if (!set.running) return stops;
  for (int i = 0; i < set.count; ++i) __atomic_store_n(&set.controls[i].stop, 1u, __ATOMIC_RELEASE);
  set.running = false;
  for (const Stage& stage : set.stages) HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stage.stream));
  for (int i = 0; i < set.count; ++i) {
    const RingControl& control = set.controls[i];
    stops.push_back({control.rx_position, control.tx_position});
    std::copy_n(control.outputs, kMaxOutputs, stops.back().outputs.begin());
  }
  return stops;
}

void RingSets::stop_all() {
  for (size_t i = 0; i < sets_.size(); ++i) {
    try {
      stop(static_cast<RingsId>(i));
    } catch (const Error&) {  // a kernel that has died has stopped; failure() has told
    }
  }
}

RingFault RingSets::fault(RingsId rings) const {
  const Set& set = sets_[static_cast<size_t>(rings)];
  for (int i = 0; i < set.count; ++i)
    if (const uint32_t fault = __atomic_load_n(&set.controls[i].fault, __ATOMIC_ACQUIRE); fault != kNoFault)
      return static_cast<RingFault>(fault);
  return kNoFault;
}

bool RingSets::running() const {
  return std::any_of(sets_.begin(), sets_.end(), [](const Set& set) { return set.running; });
}

cudaError_t RingSets::state() const {
  for (const Set& set : sets_)
    for (const Stage& stage : set.stages)
      if (const cudaError_t error = cudaStreamQuery(stage.stream); error != cudaSuccess && error != cudaErrorNotReady)
        return error;
  return cudaSuccess;
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
