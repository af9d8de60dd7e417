#include <algorithm>
#include <span>

#include "core/error.h"
#include "kernels/ring_serving.h"
#include "kernels/ring_sets.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {
namespace {

#ifdef HEDDLE_SIMT
constexpr int kMostWorkers = 3;  // all warps of a block share one OS thread
#else
constexpr int kMostWorkers = kMostRingWorkers;
#endif

}  // namespace

RingSets::RingSets(size_t most_shared_bytes) : pinned_(Arena::kPinned), device_(Arena::kDevice) {
  kinds_[static_cast<int>(RingKind::memif)][0].kernel = memif_ring_kernel();
  kinds_[static_cast<int>(RingKind::memif_copied)][0].kernel = memif_copied_ring_kernel();
  kinds_[static_cast<int>(RingKind::nic)][0].kernel = nic_ring_kernel();
  kinds_[static_cast<int>(RingKind::memif)][1].kernel = memif_spread_ring_kernel();
  kinds_[static_cast<int>(RingKind::memif_copied)][1].kernel = memif_copied_spread_ring_kernel();
  kinds_[static_cast<int>(RingKind::nic)][1].kernel = nic_spread_ring_kernel();
  for (Kind& kind : std::span(&kinds_[0][0], size_t{2} * kRingKinds)) {
    cudaFuncAttributes attributes{};
    HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kind.kernel.address));
    kind.registers = attributes.numRegs;
    kind.static_bytes = attributes.sharedSizeBytes;
    kind.most_dynamic_bytes = most_shared_bytes - kind.static_bytes;
    HEDDLE_CUDA_CHECK(cudaFuncSetAttribute(kind.kernel.address, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(kind.most_dynamic_bytes)));
  }
}

RingSets::~RingSets() {
  stop_all();
  for (const Set& set : sets_) cudaStreamDestroy(set.stream);
}

RingsId RingSets::add(size_t warp_bytes, int pairs, RingKind kind, int workers, uint32_t stage_bytes, Gate* gate) {
  Set set{};
  set.blocks = workers <= kMostRingWorkers ? 1 : workers / kSpreadWorkers + 1;
  set.kind = &kinds_[static_cast<int>(kind)][set.blocks > 1 ? 1 : 0];
  set.warp_units = (warp_bytes + 15) / 16;
  const size_t fit = set.warp_units == 0 ? kMostWorkers + 1 : set.kind->most_dynamic_bytes / (set.warp_units * 16);
  if (fit < 2)
    throw Error(
        format("a warp of a port's rings wants %zu bytes of shared memory, a block has %zu for at least two; "
               "use fewer functions between the ports",
               warp_bytes, set.kind->most_dynamic_bytes));
  set.workers = std::min({workers / set.blocks, kMostWorkers, static_cast<int>(fit) - 1});
  set.count = pairs;
  if (set.blocks > 1) {
    set.boards = device_.take<FarBoard>(static_cast<size_t>(pairs));
    set.first_boards = pinned_.take<FarBoard>(static_cast<size_t>(pairs));
    set.stage_bytes = stage_bytes, set.gate = gate;
    set.stage =
        device_.take<uint8_t>(static_cast<size_t>(pairs * set.blocks) * users(set) * kSlotPackets * stage_bytes);
  }
  set.pairs = pinned_.take<RingPair>(static_cast<size_t>(pairs));
  set.controls = pinned_.take<RingControl>(static_cast<size_t>(pairs));
  HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&set.stream, cudaStreamNonBlocking));
  sets_.push_back(set);
  return static_cast<RingsId>(sets_.size() - 1);
}

std::vector<Residents> RingSets::residents() const {
  constexpr size_t kReservedByCuda = 1024;  // of shared memory, a block
  std::vector<Residents> list;
  for (const Set& set : sets_)
    list.push_back({format("ring pair%s of a port", set.count == 1 ? "" : "s"), set.count * set.blocks, threads(set),
                    (set.kind->registers + 7) / 8 * 8 * threads(set),
                    dynamic_bytes(set) + set.kind->static_bytes + kReservedByCuda});
  return list;
}

void RingSets::start(RingsId rings, const RingLaunch& launch, const Program* program, RingCount* drops) {
  Set& set = sets_[static_cast<size_t>(rings)];
  for (int i = 0; i < set.count; ++i) {
    set.pairs[i] = launch.pairs[static_cast<size_t>(i)];
    set.controls[i] = {};
    if (set.boards != nullptr) set.first_boards[i].begin(set.pairs[i]);
  }
  if (set.boards != nullptr)
    HEDDLE_CUDA_CHECK(cudaMemcpyAsync(set.boards, set.first_boards, static_cast<size_t>(set.count) * sizeof(FarBoard),
                                      cudaMemcpyHostToDevice, set.stream));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(set.count * set.blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads(set)));
  config.dynamicSmemBytes = dynamic_bytes(set);
  config.stream = set.stream;
  set.kind->kernel.launch(config, {set.pairs, set.controls, set.boards, static_cast<uint32_t>(set.blocks), program,
                                   drops, launch.exits, launch.first_node, launch.last_node,
                                   static_cast<uint32_t>(set.warp_units), set.stage, set.stage_bytes, set.gate});
  set.running = true;
}

std::vector<RingStop> RingSets::stop(RingsId rings) {
  Set& set = sets_[static_cast<size_t>(rings)];
  std::vector<RingStop> stops;
  if (!set.running) return stops;
  for (int i = 0; i < set.count; ++i) __atomic_store_n(&set.controls[i].stop, 1u, __ATOMIC_RELEASE);
  set.running = false;
  HEDDLE_CUDA_CHECK(cudaStreamSynchronize(set.stream));
  for (int i = 0; i < set.count; ++i) stops.push_back({set.controls[i].rx_position, set.controls[i].tx_position});
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
    if (const cudaError_t error = cudaStreamQuery(set.stream); error != cudaSuccess && error != cudaErrorNotReady)
      return error;
  return cudaSuccess;
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
