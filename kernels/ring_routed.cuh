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
  RingOutput of[kMaxOutputs];
  uint32_t count;
  uint32_t limit[kMaxOutputs];   ///< places before it may be filled, as the scout has last seen
  uint32_t placed[kMaxOutputs];  ///< those before it have packets, or will have: whose tile's turn it is moves it
  uint32_t sent[kMaxOutputs];    ///< the peers are told that packets are there before it
  uint32_t behind[NearBoard::Tiles::kMax][kMaxOutputs];  ///< `placed`, behind each tile

  /** The whole block calls it; in place after the next sync. */
  __device__ void begin(const RingOutput* from, uint32_t outputs) {
    gpu::take(of, from, outputs * sizeof(RingOutput));
    __syncthreads();
    if (threadIdx.x == 0) count = outputs;
    if (threadIdx.x < outputs)
      limit[threadIdx.x] = placed[threadIdx.x] = sent[threadIdx.x] = of[threadIdx.x].end.position;
  }
  /** A tile has put `n` packets on ring `o`. One lane calls it. */
  __device__ void move(int o, uint32_t tile, uint32_t n) { behind[NearBoard::Tiles::place(tile)][o] = placed[o] += n; }
  // What is to be told: of the tiles up to `tile`, or, when nothing is under way, all. One lane calls it.
  __device__ void note(uint32_t tile) {
    for (uint32_t o = 0; o < count; ++o) BlockWords::store_release(sent[o], behind[NearBoard::Tiles::place(tile)][o]);
  }
  __device__ void note_all() {
    for (uint32_t o = 0; o < count; ++o) BlockWords::store_release(sent[o], placed[o]);
  }
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
    __device__ uint32_t limit() const { return outputs_->limit[0]; }
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
  outputs.begin(serving.outputs + size_t{blockIdx.x} * serving.output_count, serving.output_count);
  if (threadIdx.x == 0) pair.tx.position = outputs.of[0].end.position, watch.use(outputs);
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
