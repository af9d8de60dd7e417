#pragma once

// Several transmitting rings behind a receiving one, or one of the other kind: which packets leave by which, the
// program says, and what each ring is, its RingEnd. Nothing of that is known at compile time, so between two rings of a
// kind the kernels of ring_kernel.cuh are faster.

#include "kernels/ring_kernel.cuh"
#include "kernels/ring_memif.cuh"
#include "kernels/ring_nic.cuh"

namespace heddle::gpu {

/** The transmitting rings of a pair, and how far they are. In shared memory. */
struct RingOutputs {
  using Tiles = NearBoard::Tiles;
  /** How many packets are on a ring, or will be, behind a tile. All that the next tile wants is in one word, so that it
   *  is stored without a release, which would wait until memory has what the warp has written of its packets. */
  struct Placed {
    uint64_t bits;
    static __device__ Placed of(uint32_t tile, bool chained, uint32_t placed) {
      return {uint64_t{placed} << 32 | uint32_t{chained} << (Tiles::kLapBits + 1) | 1u << Tiles::kLapBits |
              Tiles::lap(tile)};
    }
    __device__ bool is_of(uint32_t tile) const {
      return (bits >> Tiles::kLapBits & 1) != 0 && (bits & Tiles::kLapMask) == Tiles::lap(tile);
    }
    __device__ bool chained() const { return (bits >> (Tiles::kLapBits + 1) & 1) != 0; }  ///< the tile to the next
    __device__ uint32_t placed() const { return static_cast<uint32_t>(bits >> 32); }
  };

  RingOutput of[kMaxOutputs];
  uint32_t count, only;                       ///< only: the one that all packets leave by; else 0
  uint32_t limit[kMaxOutputs];                ///< places before it may be filled, as the scout has last seen
  uint32_t sent[kMaxOutputs];                 ///< the peers are told that packets are there before it
  uint64_t behind[Tiles::kMax][kMaxOutputs];  ///< Placed, by tile

  /** The whole block calls it; in place after the next sync. */
  __device__ void begin(const RingOutput* from, uint32_t outputs, uint32_t only_output) {
    gpu::take(of, from, outputs * sizeof(RingOutput));
    for (uint32_t i = threadIdx.x; i < Tiles::kMax * kMaxOutputs; i += blockDim.x)
      behind[i / kMaxOutputs][i % kMaxOutputs] = 0;
    __syncthreads();
    if (threadIdx.x == 0) count = outputs, only = only_output < outputs ? only_output : 0;
    if (threadIdx.x >= outputs) return;
    limit[threadIdx.x] = sent[threadIdx.x] = of[threadIdx.x].end.position;
    behind[Tiles::place(~0u)][threadIdx.x] = Placed::of(~0u, false, of[threadIdx.x].end.position).bits;
  }
  /** The peers are to be told of what `tile`, and those before it, have placed. One lane calls it. */
  __device__ void note(uint32_t tile) {
    for (uint32_t o = 0; o < count; ++o)
      BlockWords::store_release(sent[o], Placed{BlockWords::load_relaxed(behind[Tiles::place(tile)][o])}.placed());
  }
};

/** Takes a tile's packets to the rings that their exits say. In steps, each but the copy called and not inlined, with
 *  what is between them in shared memory: so ptxas spills nothing. One warp. */
class RoutedPlacing {
 public:
  __device__ RoutedPlacing(const RingServing& serving, const RingPair& pair, const Program& program, RoutedTile& tile,
                           RingOutputs& outputs)
      : serving_(serving), pair_(pair), program_(program), tile_(tile), outputs_(outputs) {}

  /** `number`: whose word on the outputs' board is the tile's. */
  template <class Rings>
  __device__ void place(uint32_t number) {
    find_places(number);
    fill_descriptors<Rings>();
    copy_frames<8>(tile_.frame(lane()), tile_.to[lane()], tile_.length(lane()));
    give_back<Rings>();
  }

 private:
  static __device__ int lane() { return static_cast<int>(threadIdx.x % kLanes); }
  __device__ int outputs() const { return static_cast<int>(outputs_.count); }

  /** Tiles take places in turn, for whether a ring is full decides the place of every packet behind. What does not
   *  need the turn comes before or behind it: lane o has the numbers of output o. */
  __device__ __noinline__ void find_places(uint32_t number) {
    const bool is_output = lane() < outputs();
    int drop = tile_.drop[lane()];
    int exit = lane() < tile_.packets && drop < outputs() ? drop : -1;
    if (exit >= 0 && !outputs_.of[exit].swaps && tile_.length(lane()) > outputs_.of[exit].end.capacity)
      drop = outputs_.of[exit].first_drop + kTooLong;
    unsigned who = 0;  // whose packets want to leave by this lane's output
    for (int o = 0; o < outputs(); ++o)
      if (const unsigned here = __ballot_sync(~0u, exit == o && drop == o); lane() == o) who = here;

    const uint32_t before = tile_.number - 1;
    RingOutputs::Placed last{};
    do {
      if (is_output) last.bits = BlockWords::load_relaxed(outputs_.behind[RingOutputs::Tiles::place(before)][lane()]);
    } while (!__all_sync(~0u, !is_output || last.is_of(before)));
    // Whether the first descriptor belongs to the last packet of the tile before.
    const bool is_continued = __shfl_sync(~0u, static_cast<int>(last.chained()), 0) != 0;
    if (is_continued) who &= ~1u;
    const uint32_t first = last.placed();
    uint32_t room = 0;
    if (is_output) {
      // The scout may have moved the limit since the last tile saw it, and this lane may not see that yet.
      room = static_cast<uint32_t>(max(static_cast<int>(BlockWords::load_acquire(outputs_.limit[lane()]) - first), 0));
      const uint32_t placed = first + min(static_cast<uint32_t>(__popc(who)), room);
      BlockWords::store_relaxed(outputs_.behind[RingOutputs::Tiles::place(number)][lane()],
                                RingOutputs::Placed::of(number, tile_.is_chained(), placed).bits);
    }
    __syncwarp();

    if (is_continued && lane() == 0 && exit >= 0) drop = serving_.nodes.first_receive_drop + kChained, exit = -1;
    const int output = max(exit, 0);
    const unsigned beside = __shfl_sync(~0u, who, output);
    const uint32_t start = __shfl_sync(~0u, first, output), space = __shfl_sync(~0u, room, output);
    const auto rank = static_cast<uint32_t>(__popc(beside & ((1u << lane()) - 1)));
    if (exit >= 0 && drop == exit && rank >= space)
      drop = outputs_.of[exit].first_drop + (outputs_.of[exit].end.size == 0 ? kNoPeer : kFull);
    tile_.drop[lane()] = drop, tile_.exit[lane()] = exit, tile_.place[lane()] = start + rank;
    __syncwarp();
  }
  /** Those of the places, with the packets' own buffers, or such as they are to be copied to. */
  template <class Rings>
  __device__ __noinline__ void fill_descriptors() {
    const bool mine = lane() < tile_.packets;
    const int drop = tile_.drop[lane()], exit = tile_.exit[lane()];
    const uint8_t* const frame = tile_.frame(lane());
    const uint32_t length = tile_.length(lane());
    uint8_t* to = nullptr;
    if (mine && drop >= outputs()) count_up(serving_.drops[drop], 1);
    if (exit >= 0 && drop == exit) {
      const RingOutput& output = outputs_.of[exit];
      const RingEnd& tx = output.end;
      const uint32_t at = tile_.place[lane()] & (tx.size - 1);
      if (output.swaps) {
        const DeviceAtomic<uint32_t> there(tx.buffers[at]);
        const uint32_t buffer = tile_.buffer[lane()], empty = there.load(cuda::memory_order_relaxed);
        there.store(buffer, cuda::memory_order_relaxed);
        DeviceAtomic<uint32_t>(pair_.rx.buffers[slot_of_lane()]).store(empty, cuda::memory_order_relaxed);
        tile_.buffer[lane()] = empty;
        Rings::place(tx, at, frame, length);
      } else {
        to = Rings::place_copy(tx, at, length);
        if (to == nullptr) count_up(serving_.drops[output.first_drop + kBadBuffer], 1);
      }
    }
    tile_.to[lane()] = to;
    __syncwarp();
  }
  /** Buffers, to the receiving ring; and counts what was to be transmitted. */
  template <class Rings>
  __device__ __noinline__ void give_back() {
    if (lane() < tile_.packets && pair_.rx.owner) Rings::refill(pair_.rx, slot_of_lane(), tile_.buffer[lane()]);
    for (int o = 0; o < outputs(); ++o) {
      const bool came = tile_.exit[lane()] == o;
      const unsigned packets = __popc(__ballot_sync(~0u, came)),
                     bytes = __reduce_add_sync(~0u, came ? tile_.length(lane()) : 0);
      if (lane() != 0 || packets == 0) continue;
      gpu::NodeCounts& counts = program_.counts[outputs_.of[o].node];
      count_up(counts.packets, packets);
      count_up(counts.bytes, bytes);
    }
    __syncwarp();
  }
  /** Of the receiving ring, that this lane's packet came from. */
  __device__ uint32_t slot_of_lane() const {
    return (tile_.start + static_cast<uint32_t>(lane())) & (pair_.rx.size - 1);
  }

  const RingServing& serving_;
  const RingPair& pair_;
  const Program& program_;
  RoutedTile& tile_;
  RingOutputs& outputs_;
};

struct RoutedRings {
  static constexpr bool kSwaps = false, kOnHost = true, kRouted = true;
  using Memif = MemifRings<false>;
  using Nic = NicRings;
  static __device__ bool is_nic(const RingEnd& end) { return end.ring == nullptr; }

  /** Polls the indices of all memifs, and the host's stop word, in one load, and then the done bits of NICs. */
  class Watch : public RingWatch {
   public:
    /** The whole block sees it after the next sync. One thread calls it, before all else. */
    __device__ void use(RingOutputs& outputs) { outputs_ = &outputs; }
    __device__ RingOutputs& outputs() const { return *outputs_; }

    /** One thread calls it. */
    __device__ void start(const RingPair& pair, RingControl& control) {
      rx_ = &pair.rx;
      stop_ = reinterpret_cast<uint16_t*>(&control.stop);
      told_received_ = pair.rx.position;
      fault_ = kNoFault;
      for (uint32_t o = 0; o < outputs_->count; ++o) told_sent_[o] = outputs_->of[o].end.position;
      RingWatch::start(pair.rx.position, pair.tx.position);
    }
    /** Of the transmitting ring that all packets leave by, if there is but one. */
    __device__ uint32_t limit() const { return outputs_->limit[outputs_->only]; }
    /** Looks; false when the host wants an end. One warp calls it. */
    __device__ __noinline__ bool look() {
      const uint32_t lane = threadIdx.x % kLanes, count = outputs_->count;
      const unsigned word =
          SystemAtomic<uint16_t>(*index_of(lane)).load(cuda::memory_order_relaxed);  // lane 1 + o: that of ring o
      const uint32_t index = __shfl_sync(~0u, word, 0);
      const uint32_t come =
          is_nic(*rx_) ? Nic::Watch::done_from(*rx_, 2, received_,
                                               BlockWords::load_acquire(told_received_) + rx_->size - 1 - received_)
                       : static_cast<uint16_t>(index - received_);
      for (uint32_t o = 0; o < count; ++o) {
        const RingEnd& tx = outputs_->of[o].end;
        if (tx.size == 0) continue;
        const uint32_t limit = outputs_->limit[o], free = __shfl_sync(~0u, word, static_cast<int>(1 + o));
        uint32_t more = 0;
        if (is_nic(tx)) {
          const uint32_t fetched = limit - (tx.size - 1);
          more = Nic::Watch::done_from(tx, 3, fetched, BlockWords::load_acquire(told_sent_[o]) - fetched);
        } else {
          more = static_cast<uint16_t>(free + (tx.owner ? tx.size : 0) - limit);
        }
        if (more != 0) acquire_from_system();
        __syncwarp();
        if (lane != 0) continue;
        // Judged before the workers see it: of a place beyond the ring two of them would take the same buffer.
        if (limit + more - BlockWords::load_acquire(outputs_->sent[o]) > tx.size)
          fault_ = kTxIndexLies + o;
        else
          BlockWords::store_release(outputs_->limit[o], limit + more);
      }
      see(received_ + come, limit_);
      return __shfl_sync(~0u, word, kLanes - 1) == 0;
    }
    /** RingFault, as far as it is that of a transmitting ring. One lane calls it. */
    __device__ uint32_t find_fault() const { return fault_; }
    /** NICs have been told; true if that of packets to send by ring `o` was news. */
    __device__ void tell_received(uint32_t received) { BlockWords::store_release(told_received_, received); }
    __device__ bool tell_sent(uint32_t o, uint32_t sent) {
      const bool news = BlockWords::load_relaxed(told_sent_[o]) != sent;
      BlockWords::store_release(told_sent_[o], sent);
      return news;
    }

   private:
    __device__ uint16_t* index_of(uint32_t lane) const {
      if (lane == 0 && !is_nic(*rx_)) return rx_->owner ? &rx_->ring->tail : &rx_->ring->head;
      if (lane == 0 || lane > outputs_->count || is_nic(outputs_->of[lane - 1].end)) return stop_;
      const RingEnd& tx = outputs_->of[lane - 1].end;
      return tx.owner ? &tx.ring->tail : &tx.ring->head;
    }

    RingOutputs* outputs_;
    const RingEnd* rx_;
    uint16_t* stop_;
    uint32_t told_received_, told_sent_[kMaxOutputs], fault_;
  };

  static __device__ RingArrival read(const RingEnd& rx, uint32_t slot) {
    return is_nic(rx) ? Nic::read(rx, slot) : Memif::read(rx, slot);
  }
  static __device__ void refill(const RingEnd& rx, uint32_t slot, uint32_t buffer) {
    is_nic(rx) ? Nic::refill(rx, slot, buffer) : Memif::refill(rx, slot, buffer);
  }
  static __device__ void place(const RingEnd& tx, uint32_t slot, const uint8_t* frame, uint32_t length) {
    is_nic(tx) ? Nic::place(tx, slot, frame, length) : Memif::place(tx, slot, frame, length);
  }
  static __device__ uint8_t* place_copy(const RingEnd& tx, uint32_t slot, uint32_t length) {
    return is_nic(tx) ? Nic::place_copy(tx, slot, length) : Memif::place_copy(tx, slot, length);
  }
  static __device__ void tell_filled(const RingEnd& rx) { is_nic(rx) ? Nic::tell_filled(rx) : Memif::tell_filled(rx); }

  static __device__ void place_tile(const RingServing& serving, const RingPair& pair, const Program& program,
                                    RoutedTile& tile, RingOutputs& outputs, uint32_t number) {
    RoutedPlacing(serving, pair, program, tile, outputs).place<RoutedRings>(number);
  }

  /** Moves the indices, or rings the doorbells: packets before `to` have been received, and those that the outputs say
   *  are to be sent. */
  static __device__ void tell(const RingPair& pair, Watch& watch, uint32_t to, uint32_t) {
    const RingOutputs& outputs = watch.outputs();
    for (uint32_t o = 0; o < outputs.count; ++o) {
      const RingEnd& tx = outputs.of[o].end;
      const bool news = watch.tell_sent(o, outputs.sent[o]);
      if (news) is_nic(tx) ? Nic::ring(tx, outputs.sent[o]) : Memif::tell_sent(tx, outputs.sent[o]);
    }
    watch.tell_received(to);
    is_nic(pair.rx) ? Nic::ring(pair.rx, to + pair.rx.size - 1) : Memif::tell_received(pair.rx, to);
  }
};

static __global__ void __launch_bounds__(kMaxThreads<false>, 1) serve_routed_rings(RingServing serving) {
  using Warp = RingWarp<RoutedRings, false>;
  __shared__ Uninitialized<RingPair> pair_memory;
  RingPair& pair = pair_memory.value();
  __shared__ Uninitialized<RingOutputs> outputs_memory;
  RingOutputs& outputs = outputs_memory.value();
  __shared__ NearBoard board;
  __shared__ NearBuffers rx;
  __shared__ RoutedRings::Watch watch;
  __shared__ Uninitialized<Program> program_memory;
  Program& program = program_memory.value();
  __shared__ RoutedTile tiles[kMaxRingWorkers + 1];
  take(&pair, serving.pairs + blockIdx.x, sizeof pair);
  take(&program, serving.program, sizeof program);
  outputs.begin(serving.outputs + size_t{blockIdx.x} * serving.output_count, serving.output_count,
                serving.nodes.only_output);
  __syncthreads();
  if (threadIdx.x == 0) pair.tx.position = outputs.of[outputs.only].end.position, watch.use(outputs);
  __syncthreads();
  board.begin(pair, threadIdx.x, blockDim.x);
  rx.fetch(pair.rx);
  __syncthreads();
  Warp::fill(pair);
  __syncthreads();

  const uint32_t warp = threadIdx.x / kLanes, user = user_of_warp(warp);
  const Block one_warp{static_cast<int>(threadIdx.x % kLanes), kLanes};
  Warp mine(serving, pair, board, watch, program, tiles[user], one_warp,
            dynamic_shared() + user * serving.memory_units);
  if (warp == 1)
    mine.publish(workers_of_pair<false>(serving));
  else
    mine.work(user - 1);
  __syncthreads();
  rx.put_back(pair.rx);
  if (threadIdx.x != 0) return;
  RingControl& control = serving.controls[blockIdx.x];
  control.rx_position = RingProgress{board.progress}.received();
  for (uint32_t o = 0; o < outputs.count; ++o) control.outputs[o] = outputs.sent[o];
}

}  // namespace heddle::gpu
