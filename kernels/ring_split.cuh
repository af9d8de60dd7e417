#pragma once

// GPU-Ether's pipeline: three resident kernels serve a ring pair together, each by a block of its own.
//
//   receive      warp 0, the scout, polls both rings and the stop word; workers read descriptors, check them, and make
//                tiles of up to 32 packets
//   application  takes tiles through the program. It knows nothing of rings
//   transmit     workers place what is left, each tile in its turn, and give buffers back; warp 0 publishes
//
// Tiles are numbered as they are made, and lie in device memory (HandedTile), where a status word says which kernel
// owns them; packets stay where they are. In each kernel worker w has the tiles whose number is w, modulo the workers:
// each tile's word is polled by one warp. No packet is received for which there might be no place on the transmitting
// ring, so all that has been begun can be transmitted before an end, whatever the peer does.

#include "kernels/ring_kernel.cuh"
#include "kernels/ring_memory.cuh"

namespace heddle::gpu {

/** One worker's tiles in device memory, as its kernel sees them. A warp calls everything together. */
class HandedTiles {
 public:
  __device__ HandedTiles(const RingServing& serving)
      : handover_(serving.handovers[blockIdx.x]), tiles_(serving.tiles + size_t{blockIdx.x} * kHandedTiles) {}

  __device__ HandedTile& operator[](uint32_t tile) const { return tiles_[tile % kHandedTiles]; }
  /** Whether it is this kernel's now, and what the one before has written is there. One lane calls it. */
  __device__ bool is_of(uint32_t tile, TileOwner owner) const {
    return DeviceWords::load_acquire(handover_.status[tile % kHandedTiles]) == RingHandover::status_of(tile, owner);
  }
  /** Waits until it is; false if there will be no such tile. */
  __device__ bool wait(uint32_t tile, TileOwner owner) const {
    int is_there = 1;
    if (threadIdx.x % kLanes == 0)
      for (unsigned spins = 0; !is_of(tile, owner);) {
        if (++spins % kRingSpinsToLook == 0 && DeviceWords::load_acquire(handover_.ended) != 0 &&
            static_cast<int>(tile - handover_.tiles) >= 0) {
          is_there = 0;
          break;
        }
        if (spins > kRingSpins) __nanosleep(kRingSpinDozeNs);
      }
    __syncwarp();
    return __shfl_sync(~0u, is_there, 0) != 0;
  }
  /** Hands it to the next owner. */
  __device__ void pass(uint32_t tile, TileOwner owner) const {
    __syncwarp();
    if (threadIdx.x % kLanes == 0)
      DeviceWords::store_release(handover_.status[tile % kHandedTiles], RingHandover::status_of(tile, owner));
  }

 private:
  RingHandover& handover_;
  HandedTile* tiles_;
};

/** Which tile is made next, and of which packets. In shared memory. */
struct NextTile {
  uint32_t number, start;  ///< whose turn the tile is writes them
  uint32_t end;            ///< packets before it have come, the scout says
};

/** A warp of the receiving kernel. */
template <class Rings>
class ReceivingWarp : RingWarp<Rings, false> {
  using Base = RingWarp<Rings, false>;
  using Base::board_, Base::watch_, Base::pair_, Base::tile_, Base::lane, Base::control, Base::earlier;

 public:
  template <class... Arguments>
  __device__ ReceivingWarp(const RingServing& serving, NextTile& next, Arguments&... arguments)
      : Base(serving, arguments..., nullptr), handover_(serving.handovers[blockIdx.x]), tiles_(serving), next_(next) {}

  /** Lets the workers take what has come, until the end. */
  __device__ void scout() {
    if (lane() == 0) watch_.start(pair_, control());
    __syncwarp();
    while (watch_.fault == kNoFault && watch_.look()) {
      bool has_come = false;
      if (lane() == 0) {
        // Behind the look: a peer that has answered has been told of what is seen here.
        const RingProgress done{DeviceWords::load_acquire(handover_.progress)};
        watch_.tell(done.received(), done.sent());
        if (watch_.received() - done.received() > pair_.rx.size) watch_.fault = kRxIndexLies;
        if (watch_.limit() - done.sent() > pair_.tx.size) watch_.fault = kTxIndexLies;
        const uint32_t end = earlier(watch_.received(), watch_.limit() + (done.received() - done.sent()));
        has_come = watch_.fault == kNoFault && static_cast<int>(end - next_.end) > 0;
        if (has_come) watch_.idle = 0, BlockWords::store_release(next_.end, end);
      }
      if (!__any_sync(~0u, has_come)) watch_.doze();
    }
    if (lane() != 0) return;
    SystemAtomic<uint32_t>(control().fault).store(watch_.fault, cuda::memory_order_relaxed);
    BlockWords::store_release(board_.stop, 1u);
  }

  __device__ void work(uint32_t worker, uint32_t workers) {
    for (uint32_t number = worker;; number += workers) {
      if (!claim(number)) return;
      this->receive();
      HandedTile& to = tiles_[number];
      to.frame[lane()] = tile_.frame(lane()), to.length[lane()] = tile_.length(lane());
      to.buffer[lane()] = tile_.buffer[lane()], to.drop[lane()] = tile_.drop[lane()];
      if (lane() == 0) to.start = tile_.start, to.packets = tile_.packets, to.goes_on = tile_.goes_on;
      tiles_.pass(number, kApplication);
    }
  }

 private:
  /** Notes which packets this tile has when it is its turn, it is free, and some have come; false at the end. */
  __device__ bool claim(uint32_t number) {
    if (lane() == 0) {
      bool is_free = false;
      tile_.packets = 0;
      for (unsigned spins = 0; BlockWords::load_acquire(board_.stop) == 0;) {
        is_free = is_free || tiles_.is_of(number, kReceiver);
        if (is_free && BlockWords::load_acquire(next_.number) == number) {
          const uint32_t start = next_.start;
          const int n = min(static_cast<int>(BlockWords::load_acquire(next_.end) - start), kLanes);
          if (n > 0) {
            tile_.start = start, tile_.packets = n;
            next_.start = start + static_cast<uint32_t>(n);
            BlockWords::store_release(next_.number, number + 1);
            break;
          }
        }
        if (++spins > kRingSpins) __nanosleep(kRingSpinDozeNs);
      }
    }
    __syncwarp();
    return tile_.packets != 0;
  }

  RingHandover& handover_;
  HandedTiles tiles_;
  NextTile& next_;
};

/** A warp of the application's kernel. What it needs after the program is in shared memory meanwhile. */
class ApplicationWarp {
 public:
  __device__ ApplicationWarp(const RingServing& serving, Program& program, RingTile& tile, uint32_t& number,
                             uint32_t* in_turn, const Block& block, uint4* memory)
      : first_node_(serving.nodes.enters),
        tiles_(serving),
        tile_(tile),
        number_(number),
        in_turn_(in_turn),
        runner_(block, program, tile, memory) {}

  __device__ void work(uint32_t worker, uint32_t workers) {
    runner_.adopt();
    if (lane() == 0) number_ = worker;
    __syncwarp();
    while (take()) {
      const bool present = lane() < tile_.packets && tile_.drop[lane()] == 0;
      const int node = runner_.run(present, first_node_);
      give(node, workers);
    }
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x % kLanes); }

  // Called, not inlined, as RingWarp's are.
  /** Waits for the next tile; false at the end. */
  __device__ __noinline__ bool take() {
    if (!tiles_.wait(number_, kApplication)) return false;
    const HandedTile& from = tiles_[number_];
    runner_.enter(from.frame[lane()], from.length[lane()]);
    tile_.drop[lane()] = from.drop[lane()];
    if (lane() == 0) {
      tile_.packets = from.packets;
      tile_.turn().begin(in_turn_, false, from.start, from.start + static_cast<uint32_t>(from.packets));
    }
    __syncwarp();
    return true;
  }
  /** Hands it on; this lane's packet has left the program at `node`. */
  __device__ __noinline__ void give(int node, uint32_t workers) {
    HandedTile& to = tiles_[number_];
    if (tile_.drop[lane()] == 0)
      to.frame[lane()] = tile_.frame(lane()), to.length[lane()] = tile_.length(lane()), to.drop[lane()] = node - kExit;
    tiles_.pass(number_, kTransmitter);
    __syncwarp();
    if (lane() == 0) number_ += workers;
    __syncwarp();
  }

  const uint16_t first_node_;
  const HandedTiles tiles_;
  RingTile& tile_;
  uint32_t& number_;
  uint32_t* const in_turn_;
  TileRunner<1, 8> runner_;
};

/** A warp of the transmitting kernel. */
template <class Rings>
class TransmittingWarp : RingWarp<Rings, false> {
  using Base = RingWarp<Rings, false>;
  using Base::board_, Base::watch_, Base::pair_, Base::tile_, Base::lane, Base::control, Base::runner_;

 public:
  template <class... Arguments>
  __device__ TransmittingWarp(const RingServing& serving, Arguments&... arguments)
      : Base(serving, arguments..., nullptr), handover_(serving.handovers[blockIdx.x]), tiles_(serving) {}

  __device__ void work(uint32_t worker, uint32_t workers) {
    for (uint32_t number = worker; tiles_.wait(number, kTransmitter); number += workers) {
      wait_for_words(number);
      const HandedTile& from = tiles_[number];
      runner_.enter(from.frame[lane()], from.length[lane()]);
      tile_.buffer[lane()] = from.buffer[lane()], tile_.drop[lane()] = from.drop[lane()];
      if (lane() == 0)
        tile_.number = number, tile_.start = from.start, tile_.packets = from.packets, tile_.goes_on = from.goes_on;
      tiles_.pass(number + kHandedTiles, kReceiver);
      __syncwarp();
      this->finish(this->place());
    }
    if (lane() == 0) BlockWords::Word(board_.ended).fetch_add(1, cuda::memory_order_release);
  }

  __device__ void publish(uint32_t workers) {
    if (lane() == 0) watch_.start(pair_, control());
    __syncwarp();
    Base::publish(workers, [this](uint32_t packets, uint32_t placed) {
      const RingProgress before{board_.progress};
      DeviceWords::store_release(handover_.progress,
                                 RingProgress::of(before.received() + packets, before.sent() + placed).bits);
      this->tell(packets, placed);
    });
  }

 private:
  /** Waits until no other tile has this one's words. */
  __device__ void wait_for_words(uint32_t number) const {
    while (number - BlockWords::load_relaxed(board_.finished) >= Base::Tiles::kMax - 1) continue;
    __syncwarp();
  }

  RingHandover& handover_;
  HandedTiles tiles_;
};

/** What a block of the receiving or the transmitting kernel has in shared memory. */
template <class Rings>
struct SplitBlock {
  Uninitialized<RingPair> pair;
  Uninitialized<Program> program;
  NearBoard board;
  typename Rings::Watch watch;
  RingTile tiles[kMaxRingWorkers];

  /** The whole block calls it. */
  __device__ void begin(const RingServing& serving) {
    take(&pair.value(), serving.pairs + blockIdx.x, sizeof(RingPair));
    take(&program.value(), serving.program, sizeof(Program));
    __syncthreads();
    board.begin(pair.value(), threadIdx.x, blockDim.x);
    __syncthreads();
  }
};

constexpr int kMaxSplitThreads = (kMaxRingWorkers + 1) * kLanes;

template <class Rings>
static __global__ void __launch_bounds__(kMaxSplitThreads, 1) receive_rings(RingServing serving) {
  using Warp = ReceivingWarp<Rings>;
  __shared__ SplitBlock<Rings> block;
  __shared__ NextTile next;
  block.begin(serving);
  RingPair& pair = block.pair.value();
  if (threadIdx.x == 0) next = {0, pair.rx.position, pair.rx.position};
  RingWarp<Rings, false>::fill(pair);
  __syncthreads();
  const uint32_t warp = threadIdx.x / kLanes, workers = blockDim.x / kLanes - 1;
  const Block one_warp{static_cast<int>(threadIdx.x % kLanes), kLanes};
  Warp mine(serving, next, pair, block.board, block.watch, block.program.value(), block.tiles[user_of_warp(warp)],
            one_warp);
  if (warp == 0)
    mine.scout();
  else
    mine.work(warp - 1, workers);
  __syncthreads();
  if (threadIdx.x != 0) return;
  RingHandover& handover = serving.handovers[blockIdx.x];
  handover.tiles = next.number;
  DeviceWords::store_release(handover.ended, 1u);
}

static __global__ void __launch_bounds__(kMaxSplitThreads, 1) run_handed_tiles(RingServing serving) {
  __shared__ Uninitialized<Program> program_memory;
  Program& program = program_memory.value();
  __shared__ RingTile tiles[kMaxRingWorkers];
  __shared__ uint32_t numbers[kMaxRingWorkers], in_turn[kMaxTurns];
  take(&program, serving.program, sizeof program);
  if (threadIdx.x < kMaxTurns) in_turn[threadIdx.x] = serving.pairs[blockIdx.x].rx.position;
  __syncthreads();
  const uint32_t warp = threadIdx.x / kLanes;
  const Block one_warp{static_cast<int>(threadIdx.x % kLanes), kLanes};
  ApplicationWarp mine(serving, program, tiles[warp], numbers[warp], in_turn, one_warp,
                       dynamic_shared() + warp * serving.memory_units);
  mine.work(warp, blockDim.x / kLanes);
}

template <class Rings>
static __global__ void __launch_bounds__(kMaxSplitThreads, 1) transmit_rings(RingServing serving) {
  using Warp = TransmittingWarp<Rings>;
  __shared__ SplitBlock<Rings> block;
  __shared__ NearBuffers buffers;  // the receiving kernel reads those of its ring, which stay in device memory
  block.begin(serving);
  RingPair& pair = block.pair.value();
  buffers.fetch(pair.tx);
  __syncthreads();
  const uint32_t warp = threadIdx.x / kLanes, workers = blockDim.x / kLanes - 1;
  const Block one_warp{static_cast<int>(threadIdx.x % kLanes), kLanes};
  Warp mine(serving, pair, block.board, block.watch, block.program.value(), block.tiles[user_of_warp(warp)], one_warp);
  if (warp == 0)
    mine.publish(workers);
  else
    mine.work(warp - 1, workers);
  __syncthreads();
  buffers.put_back(pair.tx);
  if (threadIdx.x != 0) return;
  RingControl& control = serving.controls[blockIdx.x];
  control.rx_position = RingProgress{block.board.progress}.received();
  control.tx_position = RingProgress{block.board.progress}.sent();
}

namespace HEDDLE_GPU_BACKEND {

/** `Reading`: the rings as the kernel knows them that reads no packets. */
template <class Reading, class Rings>
SplitRingKernels split_ring_kernels() {
  return {RingKernel{reinterpret_cast<const void*>(receive_rings<Reading>),
                     [](const cudaLaunchConfig_t& config, const RingServing& serving) {
                       HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, receive_rings<Reading>, serving));
                     }},
          RingKernel{reinterpret_cast<const void*>(run_handed_tiles),
                     [](const cudaLaunchConfig_t& config, const RingServing& serving) {
                       HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, run_handed_tiles, serving));
                     }},
          RingKernel{reinterpret_cast<const void*>(transmit_rings<Rings>),
                     [](const cudaLaunchConfig_t& config, const RingServing& serving) {
                       HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, transmit_rings<Rings>, serving));
                     }}};
}

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
