#pragma once

// The kernel that drives ring pairs (gpu/rings.h): a block a pair, or, for functions that do much for each packet,
// several. No CPU works for the packets.
//
// What a ring is, the kernel is told at compile time: `Rings` is MemifRings<swaps> (kernels/ring_memif.cuh) or NicRings
// (ring_nic.cuh). With several transmitting rings, or one of the other kind, it is RoutedRings (ring_routed.cuh), whose
// kernel is there.
//
//   scout      warp 0: polls both rings and the stop word in one go, and makes tiles of up to 32 packets for the
//              workers. Of one block it takes what comes while nothing is under way through the program itself
//   publisher  warp 1: collects the tiles that are done without a gap and moves both indices, or tails, after one fence
//   workers    the others: of W workers, w takes tiles w, w + W, ... through the program, and places what is left on
//              the transmitting ring, behind what the tiles before it leave
//
// In one block each other warp is a worker. Of several blocks the first has scout and publisher, and each of the others
// is one worker, a team of kTeamWarps warps. What one block's warps tell each other lies in its shared memory; that of
// several in device memory, where a word takes about a microsecond from one to the other. So there only functions that
// want packets in order (kInTurn) have one tile wait for the next: each tile has words of its own. Teams have programs
// with Copies work on copies of the packets in GPU memory: a team gathers its tile's before, and takes them back to
// where they were, or to the transmitting ring's buffers, behind it.
//
// GPU-Ether's three kernels in the place of this one: kernels/ring_split.cuh.
//
// Packets are numbered as they arrive; all positions are those of the receiving ring, from where it was at the start,
// but for `sent`. A packet leaves at its position less the packets that were dropped before it.

#include <type_traits>

#include "gpu/rings.h"
#include "kernels/check.h"
#include "kernels/ring_copy.cuh"
#include "kernels/ring_memory.cuh"
#include "kernels/ring_serving.h"
#include "kernels/ring_watch.cuh"
#include "kernels/rings.h"
#include "kernels/shared_memory.cuh"
#include "kernels/tile_runner.cuh"

namespace heddle::gpu {

constexpr unsigned kRingSpins = 2000, kRingSpinDozeNs = 1000;  ///< of the other warps, which look at the board
constexpr unsigned kRingSpinsToLook = 16;                      ///< for the end, which comes once

/** The pair that this block serves, and whether it is the first of its blocks. */
template <bool spread>
__device__ inline uint32_t pair_of_block(const RingServing& serving) {
  return spread ? blockIdx.x / serving.blocks : blockIdx.x;
}
template <bool spread>
__device__ inline bool is_first_block(const RingServing& serving) {
  return !spread || blockIdx.x % serving.blocks == 0;
}

/** In a block that serves a pair alone: which of the warps that take packets through the program a warp is. The
 *  publisher, warp 1, is none. */
__device__ inline uint32_t user_of_warp(uint32_t warp) { return warp == 0 ? 0 : warp - 1; }
/** The workers of a pair. */
template <bool spread>
__device__ inline uint32_t workers_of_pair(const RingServing& serving) {
  return spread ? serving.blocks - 1 : blockDim.x / kLanes - 2;
}

/** One of those who serve a ring pair, in one block, or, if they are `spread`, in several: a warp, or a team, whose
 *  warps call work() together. In a team lane i of warp 0 has packet i, and the other warps help with the bytes. */
template <class Rings, bool spread>
class RingWarp {
  using Watch = typename Rings::Watch;
  using Words = gpu::Words<spread ? cuda::thread_scope_device : cuda::thread_scope_block>;
  static constexpr int kWarps = spread ? kTeamWarps : 1;

 public:
  using Board = std::conditional_t<spread, FarBoard, NearBoard>;
  using Tiles = typename Board::Tiles;
  using Made = typename Tiles::Made;
  using Dropped = typename Tiles::Dropped;
  using Done = typename Tiles::Done;
  using OwnTile = std::conditional_t<spread, TeamTile, std::conditional_t<Rings::kRouted, RoutedTile, RingTile>>;

  __device__ RingWarp(const RingServing& serving, const RingPair& pair, Board& board, Watch& watch, Program& program,
                      OwnTile& tile, const Block& block, uint4* memory)
      : serving_(serving),
        pair_(pair),
        board_(board),
        watch_(watch),
        program_(program),
        tile_(tile),
        runner_(block, program, tile, memory) {}

  /** What worker number `worker` does until the end, or, in one block, the scout. */
  __device__ void work(uint32_t worker) {
    runner_.adopt();
    if (!spread && is_scout()) {
      begin_scouting();
    } else if (speaks()) {
      tile_.number = worker;
    }
    sync();
    while (!spread && is_scout() ? look_out() : wait_for_tile()) {
      const uint32_t placed = take_through();
      if (!spread && is_scout()) {
        finish_alone(placed);
      } else {
        finish(placed);
        if (speaks()) tile_.number += workers_of_pair<spread>(serving_);
      }
      __syncwarp();
    }
    if (!spread && is_scout())
      end_scouting();
    else if (speaks())
      typename Words::Word(board_.ended).fetch_add(1, cuda::memory_order_release);
  }

  /** What the scout of several blocks does until the end. */
  __device__ void scout() {
    begin_scouting();
    __syncwarp();
    look_out();
    end_scouting();
  }

  __device__ void publish(uint32_t workers) {
    publish(workers, [this](uint32_t packets, uint32_t placed) { tell(packets, placed); });
  }
  /** The same, with `tell(packets, placed)` to move the indices, which one lane calls. */
  template <class Tell>
  __device__ void publish(uint32_t workers, const Tell& tell) {
    uint32_t tile = 0;  // the first that is not done with
    bool last_look = false;
    for (unsigned spins = 0;;) {
      // Of one block only one lane looks while nothing is done: the others would slow the block's warps down.
      const uint32_t number = tile + static_cast<uint32_t>(lane());
      const bool all_look = spread || spins == 0;
      const Done done{all_look || lane() == 0 ? Words::load_acquire(board_.words.done[Tiles::place(number)]) : 0};
      const unsigned open = ~__ballot_sync(~0u, done.is_of(number));
      const int n = open != 0 ? __ffs(static_cast<int>(open)) - 1 : kLanes;
      if (n == 0) {
        if (last_look) return;
        last_look = __any_sync(~0u, lane() == 0 && Words::load_acquire(board_.ended) == workers);
        if (++spins > kRingSpins) __nanosleep(kRingSpinDozeNs);
      } else if (!all_look) {
        spins = 0;
      } else {
        spins = 0;
        const uint32_t packets = __reduce_add_sync(~0u, lane() < n ? done.packets() : 0),
                       placed = __reduce_add_sync(~0u, lane() < n ? done.placed() : 0);
        tile += static_cast<uint32_t>(n);
        __syncwarp();  // lane 0 tells of what the others have seen
        if (lane() == 0) {
          if constexpr (Rings::kRouted) watch_.outputs().note(tile - 1);
          Words::store_relaxed(board_.finished, tile);
          tell(packets, placed);
        }
        __syncwarp();
      }
    }
  }

  /** Gives every descriptor of a receiving ring its buffer. The whole block calls it. */
  static __device__ void fill(const RingPair& pair) {
    const RingEnd& rx = pair.rx;
    if (!rx.owner || !rx.fresh) return;
    for (uint32_t slot = threadIdx.x; slot < rx.size; slot += blockDim.x) Rings::refill(rx, slot, rx.buffers[slot]);
    __syncthreads();
    if (threadIdx.x != 0) return;
    release_to_system();
    Rings::tell_filled(rx);
  }

 protected:
  __device__ RingControl& control() const { return serving_.controls[pair_of_block<spread>(serving_)]; }
  static __device__ bool is_scout() { return threadIdx.x < kLanes; }  // in the first block
  static __device__ int lane() { return static_cast<int>(threadIdx.x % kLanes); }
  /** Whether this warp's lanes have packets, and whether this is the thread that tells others of them. */
  static __device__ bool has_packets() { return kWarps == 1 || threadIdx.x < kLanes; }
  static __device__ bool speaks() { return kWarps == 1 ? lane() == 0 : threadIdx.x == 0; }
  /** Of the warp, or the team. */
  static __device__ void sync() { kWarps == 1 ? __syncwarp() : __syncthreads(); }
  __device__ int receive_exit(RingDrop drop) const { return serving_.nodes.first_receive_drop + drop; }
  __device__ int place_exit(PlaceDrop drop) const { return serving_.nodes.exits - kPlaceDrops + drop; }
  static __device__ uint32_t earlier(uint32_t a, uint32_t b) { return static_cast<int>(a - b) < 0 ? a : b; }

  // The scout. tile_.number is that of the next tile that it will make.
  __device__ void begin_scouting() {
    if (lane() == 0) watch_.start(pair_, control()), watch_.end = pair_.rx.position, tile_.number = 0;
  }
  __device__ void end_scouting() {
    if (lane() != 0) return;
    SystemAtomic<uint32_t>(control().fault).store(watch_.fault, cuda::memory_order_relaxed);
    Words::store_release(board_.stop, 1u);
  }

  /** Waits for packets and leaves them to the workers until the end, when it returns false; but, in one block, up to 32
   *  that come while nothing is under way it puts into the tile, and returns true. */
  __device__ bool look_out() {
    while (watch_.fault == kNoFault && watch_.look()) {  // in this order: look() lets no lane on before all have read
      const uint32_t start = watch_.end;
      uint32_t end = start;
      bool alone = false;
      if (lane() == 0) {
        // Behind the look: a peer that has answered has been told of what is seen here.
        const RingProgress done{Words::load_relaxed(board_.progress)};
        const uint32_t finished = Words::load_relaxed(board_.finished), told = Words::load_acquire(board_.told);
        const uint32_t admitted = find_fault(done);
        const uint32_t room = (Tiles::kMax - 1 - (tile_.number - finished)) * kLanes;
        if (watch_.fault == kNoFault) end = earlier(admitted, start + room);
        alone = !spread && end - start <= kLanes && told == start;
        // While every worker has a tile, what does not fill one waits for more; while one has, if the program says so.
        const uint32_t enough = program_.has(Program::kSmallTilesWait) ? 1 : workers_of_pair<spread>(serving_);
        if (!alone && static_cast<int>(end - start) > 0 && tile_.number - finished >= enough)
          end -= (end - start) % kLanes, watch_.idle = 0;
        if (alone) tile_.start = start, tile_.packets = static_cast<int>(end - start);
      }
      end = __shfl_sync(~0u, end, 0);
      if (static_cast<int>(end - start) <= 0) {
        watch_.doze();
        continue;
      }
      if (lane() == 0) watch_.idle = 0;
      if (!spread && __any_sync(~0u, alone)) {
        __syncwarp();
        return true;
      }
      make_tiles(end);
    }
    return false;
  }

  /** Notes what no honest peer does. Returns before which position packets may be taken: those that have come, as far
   *  as they would have places. */
  __device__ uint32_t find_fault(const RingProgress& done) {
    if (watch_.received() - done.received() > pair_.rx.size) watch_.fault = kRxIndexLies;
    if constexpr (Rings::kRouted) {
      if (const uint32_t fault = watch_.find_fault(); fault != kNoFault) watch_.fault = fault;
      if (serving_.nodes.only_output >= serving_.output_count) return watch_.received();
    } else if (watch_.limit() - done.sent() > pair_.tx.size) {
      watch_.fault = kTxIndexLies;
    }
    return earlier(watch_.received(), watch_.limit() + (done.received() - done.sent()));
  }

  /** Makes tiles for the workers of the packets that have come before `end`. */
  __device__ void make_tiles(uint32_t end) {
    const uint32_t start = watch_.end, tile = tile_.number, tiles = (end - start + kLanes - 1) / kLanes;
    for (uint32_t i = static_cast<uint32_t>(lane()); i < tiles; i += kLanes) {
      const uint32_t from = start + i * kLanes;
      Words::store_release(board_.words.made[Tiles::place(tile + i)],
                           Made::of(tile + i, from, min(end - from, uint32_t{kLanes})).bits);
    }
    __syncwarp();
    if (lane() == 0) watch_.end = end, tile_.number = tile + tiles;
    __syncwarp();
  }

  /** Waits for the worker's tile and notes which packets it has; false at the end. */
  __device__ bool wait_for_tile() {
    if (speaks()) {
      tile_.packets = 0;
      for (unsigned spins = 1;; ++spins) {
        const bool last_look = spins % kRingSpinsToLook == 0 && Words::load_acquire(board_.stop) != 0;
        const Made made{Words::load_acquire(board_.words.made[Tiles::place(tile_.number)])};
        if (made.is_of(tile_.number)) {
          tile_.start = made.start(), tile_.packets = static_cast<int>(made.packets());
          break;
        }
        if (last_look) break;
        if (spins > kRingSpins) __nanosleep(kRingSpinDozeNs);
      }
    }
    sync();
    return tile_.packets != 0;
  }

  /** The scout's packets are done with: nothing else is under way. */
  __device__ void finish_alone(uint32_t placed) {
    if (lane() != 0) return;
    watch_.end += static_cast<uint32_t>(tile_.packets);
    if constexpr (Rings::kRouted) watch_.outputs().note(number_on_board());
    tell(static_cast<uint32_t>(tile_.packets), placed);
  }
  /** A worker's tile is. */
  __device__ void finish(uint32_t placed) {
    sync();
    if (speaks())
      Words::store_release(board_.words.done[Tiles::place(tile_.number)],
                           Done::of(tile_.number, static_cast<uint32_t>(tile_.packets), placed).bits);
  }

  /** Moves the indices: the next packets are done with, and so many of them placed. What the scout compares them with
   *  comes first. */
  __device__ void tell(uint32_t packets, uint32_t placed) {
    const RingProgress before{Words::load_relaxed(board_.progress)};
    const uint32_t to = before.received() + packets;
    uint32_t sent = before.sent() + placed;
    if constexpr (Rings::kRouted) sent = watch_.outputs().sent[watch_.outputs().only];
    Words::store_release(board_.progress, RingProgress::of(to, sent).bits);
    release_to_system();
    Rings::tell(pair_, watch_, to, sent);
    Words::store_release(board_.told, to);
  }

  /** Takes the tile's packets through the program and places those that are left. Returns how many these are, to the
   *  lanes that have packets. What a later step needs is in shared memory meanwhile: registers are the program's. */
  __device__ uint32_t take_through() {
    receive();
    if (spread) say(Dropped::kRead, 0);
    run();
    if constexpr (Rings::kRouted) {
      Rings::place_tile(serving_, pair_, program_, tile_, watch_.outputs(), number_on_board());
      return 0;  // the rings know
    } else {
      return Rings::kSwaps ? place_apart() : place();
    }
  }

  /** Whether the program works on copies of the packets. One block's warps would spill registers if they could. */
  __device__ bool gathers() const { return Rings::kOnHost && spread && serving_.stage != nullptr && pair_.rx.owner; }
  /** Whether this lane has a packet that is not dropped, so far. */
  __device__ bool is_in_program() const { return has_packets() && lane() < tile_.packets && tile_.drop[lane()] == 0; }
  /** Where this lane's packet was received. */
  __device__ uint8_t* received_at() const { return pair_.rx.memory[0].base + tile_.buffer[lane()] + pair_.rx.headroom; }
  /** How far from there its copy is, which is as far from a boundary of a line. */
  __device__ ptrdiff_t to_copy() const {
    const uint64_t place = uint64_t{blockIdx.x} * kSlotPackets + static_cast<unsigned>(lane());
    return reinterpret_cast<intptr_t>(serving_.stage + place * serving_.stage_bytes) -
           static_cast<intptr_t>(program_.copies.first(reinterpret_cast<uintptr_t>(received_at())));
  }
  // Called, not inlined, as `count` is, and place() where buffers change places: what is in registers over a call is
  // little, and ptxas spills nothing.
  /** Reads the descriptors of the tile's packets, and gathers them. */
  __device__ __noinline__ void receive() {
    if (has_packets()) read_descriptors();
    sync();
    if (gathers()) runner_.gather(is_in_program(), to_copy(), *serving_.gate);
  }
  __device__ void read_descriptors() {
    const uint32_t start = tile_.start;
    const int n = tile_.packets;
    const bool mine = lane() < n;
    RingArrival arrival;
    if (mine) arrival = Rings::read(pair_.rx, (start + static_cast<uint32_t>(lane())) & (pair_.rx.size - 1));
    const unsigned goes_on = __ballot_sync(~0u, mine && arrival.goes_on);
    int drop = arrival.is_right ? 0 : receive_exit(kBadDescriptor);
    if (mine && (arrival.goes_on || (goes_on << 1 >> lane() & 1) != 0)) drop = receive_exit(kChained);
    count(serving_.nodes.receives, __popc(__ballot_sync(~0u, mine)), mine && drop == 0 ? arrival.length : 0);
    runner_.enter(arrival.frame, arrival.length);
    tile_.drop[lane()] = drop;
    tile_.buffer[lane()] = arrival.buffer;
    if (lane() != 0) return;
    tile_.goes_on = goes_on;
    tile_.turn().begin(board_.in_turn, spread, start, start + static_cast<uint32_t>(n));
  }
  /** Takes this lane's packet through the program. */
  __device__ void run() {
    const int node = runner_.run(is_in_program(), serving_.nodes.enters);
    if (has_packets() && tile_.drop[lane()] == 0) tile_.drop[lane()] = node - kExit;
  }

  /** Places what is left of the tile's packets on the transmitting ring. */
  __device__ uint32_t place() {
    if (Rings::kSwaps && gathers()) runner_.write_back(is_in_program(), received_at(), to_copy());
    const uint32_t placed = has_packets() ? place_mine() : 0;
    if constexpr (!Rings::kSwaps && kWarps > 1) {
      sync();
      copy_frames<8>(tile_.frame(lane()), tile_.to[lane()], tile_.length(lane()), threadIdx.x / kLanes, kWarps);
    }
    return placed;
  }
  /** The lanes that have packets; of a team, but for the bytes of those that are to be copied. */
  __device__ uint32_t place_mine() {
    const uint32_t start = tile_.start;
    const int n = tile_.packets;
    const bool mine = lane() < n;
    const uint8_t* const frame = tile_.frame(lane());
    const uint32_t length = tile_.length(lane()), buffer = tile_.buffer[lane()];
    int drop = tile_.drop[lane()];
    if (mine && drop == 0 && !Rings::kSwaps && length > pair_.tx.capacity) drop = place_exit(kTooLong);

    const uint32_t before = spread ? look_back(mine, drop) : wait_for_total(mine, drop);
    const bool kept = mine && drop == 0;
    const unsigned who = __ballot_sync(~0u, kept);
    const auto placed = static_cast<uint32_t>(__popc(who));
    const uint32_t at = start - before + static_cast<uint32_t>(__popc(who & ((1u << lane()) - 1)));

    if (mine && !kept) count_up(serving_.drops[drop], 1);
    if constexpr (Rings::kSwaps)
      swap(mine, kept, start, at, buffer, frame, length);
    else
      copy(mine, kept, start, at, buffer, frame, length);
    const bool came = kept || (mine && drop == place_exit(kTooLong));
    count(serving_.nodes.transmits, __popc(__ballot_sync(~0u, came)), came ? length : 0);
    __syncwarp();
    return placed;
  }

  __device__ __noinline__ uint32_t place_apart() { return place(); }

  /** Says how far the counting of the tile's dropped packets is. The scout's packets are in no tile: what is dropped of
   *  them is added to the total of the last tile that was made, to which all later ones look back. */
  __device__ void say(typename Dropped::State state, uint32_t count) {
    if (!speaks()) return;
    const uint32_t tile = number_on_board();
    Words::store_relaxed(board_.words.dropped[Tiles::place(tile)],
                         Dropped::of(tile, state, tile_.is_chained(), count).bits);
  }
  __device__ uint32_t number_on_board() const { return tile_.number - (!spread && is_scout() ? 1 : 0); }

  // How many packets before the tile's have been dropped. `drop` of this lane's packet, if it is `mine`, gets its last
  // word: the first descriptor may belong to the last one of the tile before.
  /** From one tile of a block to the next, which takes no time. */
  __device__ uint32_t wait_for_total(bool mine, int& drop) {
    const uint32_t tile = tile_.number - 1;
    Dropped before;
    do before.bits = Words::load_relaxed(board_.words.dropped[Tiles::place(tile)]);
    while (before.state(tile) != Dropped::kTotal);
    __syncwarp();
    const uint32_t own = judge(before.chained(), mine, drop);
    say(Dropped::kTotal, before.count() + own);
    return before.count();
  }
  /** From what the tiles before have said so far. */
  __device__ uint32_t look_back(bool mine, int& drop) {
    uint32_t total = 0, own = 0;
    bool has_own = false;
    for (uint32_t end = tile_.number;;) {  // the tiles before it are to be added
      const uint32_t tile = end - 1 - static_cast<uint32_t>(lane());
      const Dropped before{Words::load_relaxed(board_.words.dropped[Tiles::place(tile)])};
      const auto state = before.state(tile);
      const unsigned totals = __ballot_sync(~0u, state == Dropped::kTotal),
                     counted = totals | __ballot_sync(~0u, state == Dropped::kOwn);
      if (!has_own) {
        if (__shfl_sync(~0u, static_cast<uint32_t>(state), 0) == Dropped::kNone) continue;
        own = judge(before.chained(), mine, drop);
        has_own = true;
        if ((totals & 1) == 0) say(Dropped::kOwn, own);
      }
      const int last = totals != 0 ? __ffs(static_cast<int>(totals)) - 1 : kLanes - 1;
      const unsigned wanted = ~0u >> (kLanes - 1 - last);
      if ((counted & wanted) != wanted) continue;
      total += __reduce_add_sync(~0u, lane() <= last ? before.count() : 0);
      if (totals != 0) break;
      end -= kLanes;
    }
    say(Dropped::kTotal, total + own);
    return total;
  }
  /** Lane 0 knows whether the tile before is `chained` to this one. Returns how many of this one's are dropped. */
  __device__ uint32_t judge(bool chained, bool mine, int& drop) const {
    if (lane() == 0 && drop == 0 && chained) drop = receive_exit(kChained);
    return static_cast<uint32_t>(__popc(__ballot_sync(~0u, mine && drop != 0)));
  }

  /** The packet's buffer goes to the transmitting ring, and that of the place there comes to the receiving one. */
  __device__ void swap(bool mine, bool kept, uint32_t start, uint32_t at, uint32_t buffer, const uint8_t* frame,
                       uint32_t length) {
    const RingEnd &rx = pair_.rx, &tx = pair_.tx;
    const uint32_t slot = (start + static_cast<uint32_t>(lane())) & (rx.size - 1), place = at & (tx.size - 1);
    uint32_t empty = buffer;
    if (kept) {
      const DeviceAtomic<uint32_t> there(tx.buffers[place]);
      empty = there.load(cuda::memory_order_relaxed);
      there.store(buffer, cuda::memory_order_relaxed);
      DeviceAtomic<uint32_t>(rx.buffers[slot]).store(empty, cuda::memory_order_relaxed);
      Rings::place(tx, place, frame, length);
    }
    if (mine) Rings::refill(rx, slot, empty);
  }

  /** The packet's bytes go to the buffer of its place, if there is one. */
  __device__ void copy(bool mine, bool kept, uint32_t start, uint32_t at, uint32_t buffer, const uint8_t* frame,
                       uint32_t length) {
    const RingEnd &rx = pair_.rx, &tx = pair_.tx;
    uint8_t* const to = kept ? Rings::place_copy(tx, at & (tx.size - 1), length) : nullptr;
    if (kept && to == nullptr) count_up(serving_.drops[place_exit(kBadBuffer)], 1);
    if constexpr (kWarps == 1)
      copy_frames<8>(frame, to, length);
    else
      tile_.to[lane()] = to;
    if (mine && rx.owner) Rings::refill(rx, (start + static_cast<uint32_t>(lane())) & (rx.size - 1), buffer);
  }

  __device__ __noinline__ void count(int node, int packets, uint32_t bytes) {
    const unsigned sum = __reduce_add_sync(~0u, bytes);
    if (lane() != 0 || packets == 0) return;
    count_up(program_.counts[node].packets, static_cast<unsigned>(packets));
    count_up(program_.counts[node].bytes, sum);
  }

  const RingServing& serving_;
  const RingPair& pair_;
  Board& board_;
  Watch& watch_;
  const Program& program_;
  OwnTile& tile_;
  TileRunner<kWarps, 8> runner_;
};

template <bool spread>
constexpr int kMaxThreads = (spread ? kTeamWarps : kMaxRingWorkers + 2) * kLanes;

template <class Rings, bool spread>
static __global__ void __launch_bounds__(kMaxThreads<spread>, spread ? kTeamsAtOnce : 1)
    serve_rings(RingServing serving) {
  using Warp = RingWarp<Rings, spread>;
  struct Nothing {};
  __shared__ Uninitialized<RingPair> pair_memory;
  RingPair& pair = pair_memory.value();
  __shared__ std::conditional_t<spread, Nothing, RingBlock> block;
  __shared__ typename Rings::Watch watch;
  __shared__ Uninitialized<Program> program_memory;
  Program& program = program_memory.value();
  __shared__ typename Warp::OwnTile tiles[spread ? 1 : kMaxRingWorkers + 1];
  const uint32_t warp = threadIdx.x / kLanes;
  take(&pair, serving.pairs + pair_of_block<spread>(serving), sizeof pair);
  take(&program, serving.program, sizeof program);
  __syncthreads();
  if constexpr (!spread) block.begin(pair);
  __syncthreads();
  typename Warp::Board& board = [&]() -> typename Warp::Board& {
    if constexpr (spread)
      return serving.boards[pair_of_block<spread>(serving)];
    else
      return block.board;
  }();
  const bool is_first = is_first_block<spread>(serving);
  if (is_first) Warp::fill(pair);
  __syncthreads();

  const uint32_t user = spread ? 0 : user_of_warp(warp);  // of a tile and of memory
  const Block who{static_cast<int>(spread ? threadIdx.x : threadIdx.x % kLanes), (spread ? kTeamWarps : 1) * kLanes};
  Warp mine(serving, pair, board, watch, program, tiles[user], who, dynamic_shared() + user * serving.memory_units);
  if (is_first && warp == 1) {
    mine.publish(workers_of_pair<spread>(serving));
  } else if (!spread || !is_first) {
    mine.work((spread ? blockIdx.x % serving.blocks : user) - 1);
  } else if (warp == 0) {
    if constexpr (spread) mine.scout();
  }
  __syncthreads();
  if constexpr (!spread) block.end(pair);
  if (!is_first || threadIdx.x != 0) return;
  RingControl& control = serving.controls[pair_of_block<spread>(serving)];
  control.rx_position = RingProgress{board.progress}.received();
  control.tx_position = RingProgress{board.progress}.sent();
}

namespace HEDDLE_GPU_BACKEND {

template <class Rings, bool spread>
RingKernel ring_kernel() {
  return {reinterpret_cast<const void*>(serve_rings<Rings, spread>),
          [](const cudaLaunchConfig_t& config, const RingServing& serving) {
            HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, serve_rings<Rings, spread>, serving));
          }};
}

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
