#pragma once

// What a block does with the packets of a slot: the same in every launch mode.

#include <cuda_runtime.h>

#include <cuda/atomic>
#include <utility>

#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"
#include "kernels/gather.cuh"
#include "kernels/wait.cuh"
// Made by the build: includes every functions/<name>/gpu.cu.
#include "gpu_functions.inc"

namespace heddle::gpu {

/** Runs tiles on a block of kWarps warps. Warp 0 keeps the packets' ways: its lane i that of packet i. Functions that
 *  want more than kMaxWarps are not there. */
template <int kWarps, int kMaxWarps = kWarps>
class TileRunner {
  static constexpr bool kOnRings = kMaxWarps > kWarps;  // of rings: also functions that want more warps are here

 public:
  /** `memory`: the block's dynamic shared memory: columns, scratch, and what functions have filled. */
  __device__ TileRunner(const Block& block, Program& program, Tile& tile, uint4* memory)
      : block_(block), program_(program), tile_(tile), memory_(memory) {}

  /** Takes up the program that `slot` names. All threads call it; it is there for all of them on return. */
  __device__ void take_up(const Slot& slot) {
    // The host wrote both before the words that said so.
    const auto* from = reinterpret_cast<const uint32_t*>(*const_cast<const Program* const volatile*>(&slot.program));
    uint32_t* const columns = *const_cast<uint32_t* const volatile*>(&slot.columns);
    auto* to = reinterpret_cast<uint32_t*>(&program_);
    block_.sync();  // the last tile is done with the program before
    if (block_.thread == 0) tile_.slot_columns_ = columns;
    for (size_t word = static_cast<size_t>(block_.thread); word < sizeof(Program) / sizeof(uint32_t);
         word += static_cast<size_t>(block_.threads))
      to[word] = SystemAtomic<const uint32_t>(from[word]).load(cuda::memory_order_relaxed);
    block_.sync();
    adopt();
  }

  /** Takes up the program that lies in place. */
  __device__ void adopt() {
    if (block_.thread == 0) {
      tile_.program_ = &program_;
      tile_.columns_ = reinterpret_cast<uint32_t*>(memory_);
    }
    block_.sync();
    for (int n = 0; n < program_.count; ++n)
      if (program_.nodes[n].function >= 0) dispatch<Fill>(program_.nodes[n]);
    block_.sync();
  }

  /** Takes the packets of `slot` through the program and writes the result words. The whole block calls it; in warp 0
   *  lane i has the word of packet i. What is needed after the program is in shared memory meanwhile: registers are the
   *  program's. */
  __device__ void run(Slot& slot, uint64_t word, const PacketPlaces& places) {
    const int i = block_.thread;
    const bool keeps_ways = kWarps == 1 || i < kSlotPackets;
    const unsigned features = program_.features;
    int node = kExit;  // of this lane's packet; a lane without one has left already
    if (keeps_ways) {
      if (offset_of(word) != kNoPacket) node = 0;
      if ((features & Program::kColumnInWords) != 0)
        tile_.columns_[program_.place[program_.word_column] * kSlotPackets + i] = static_cast<uint32_t>(word);
      tile_.word_[i] = word;
      tile_.length_[i] = length_of(word);
      if ((features & Program::kColumnsIn) != 0) copy_columns<true>(i);
    }
    if ((features & Program::kCopies) != 0) word = gather(slot, places, word, node == 0);
    if (keeps_ways) tile_.frame_[i] = entry(features, word, places);
    node = travel(node);
    const unsigned features_then = program_.features;  // again, rather than in a register meanwhile
    if ((features_then & Program::kCopies) != 0 && !program_.copies.out.empty() &&
        !(tile_.landed_ && program_.copies.landing == Landing::engine))
      write_back(places, keeps_ways && node - kExit < program_.first_drop);
    if (!keeps_ways) return;
    if ((features_then & Program::kColumnsOut) != 0) copy_columns<false>(i);
    word = tile_.word_[i];
    const auto exit = static_cast<uint32_t>(node - kExit);
    const bool fence = (features_then & Program::kWrites) != 0;
    if ((features_then & Program::kWideResults) != 0) {
      const auto head = static_cast<int>(tile_.frame_[i] - entry(features_then, word, places));
      const int tail = head + static_cast<int>(tile_.length_[i]) - static_cast<int>(length_of(word));
      store_result(slot.result.wide[i], pack_wide(stamp_of(word), {exit, head, tail}), fence);
    } else {
      store_result(slot.result.narrow[i], pack_narrow(stamp_of(word), exit), fence);
    }
  }

  /** Puts a packet that no slot holds into the tile, as this lane's. Warp 0; in place after the next sync. */
  __device__ void enter(uint8_t* frame, uint32_t length) {
    tile_.frame_[block_.thread] = frame;
    tile_.length_[block_.thread] = length;
  }

  // Of these three the whole block calls each; warp 0's lanes say which packets they have, and others that they have
  // none.
  /** Copies the packets that have entered, this lane's if it is `present`, to `far` bytes from where they are, and has
   *  the program work on them there. */
  __device__ void gather(bool present, ptrdiff_t far, Gate& gate) {
    const int i = block_.thread % kLanes;
    const auto start = reinterpret_cast<uintptr_t>(tile_.frame_[i]);
    TileCopy& copy = tile_copy();
    copy.lay_out(block_, present ? program_.copies.gathered(start, tile_.length_[i]) : Range{}, far);
    copy.enter(block_, gate);
    copy_apart(copy, block_);
    copy.leave(block_, gate);
    if (present) tile_.frame_[i] += far;
    block_.sync();
  }
  /** Copies what the program has changed of them back, this lane's if it is `wanted`, which entered at `entry`; they
   *  are there again. */
  __device__ void write_back(bool wanted, const uint8_t* entry, ptrdiff_t far) {
    const int i = block_.thread % kLanes;
    const auto start = reinterpret_cast<uintptr_t>(tile_.frame_[i]), twin = reinterpret_cast<uintptr_t>(entry) + far;
    const uint32_t length = tile_.length_[i], entry_length = length + static_cast<uint32_t>(start - twin);
    TileCopy& copy = tile_copy();
    copy.lay_out(block_, wanted ? program_.copies.written_back(twin, entry_length, start, length) : Range{}, -far);
    copy_apart(copy, block_);
    if (wanted) tile_.frame_[i] -= far;
    block_.sync();
  }

  /** Takes the packets that have entered, a lane one if it is `present`, through the program from node `first` on;
   *  columns are zero. Returns where the lane's packet leaves, kExit + exit; the tile says where it then begins and how
   *  long it is. */
  __device__ int run(bool present, int first) {
    for (int word = block_.thread; word < program_.column_words * kSlotPackets; word += block_.threads)
      tile_.columns_[word] = 0;
    return travel(present ? first : static_cast<int>(kExit));
  }

 private:
  /** Where the packet of a word begins as it enters: itself, or its twin; nowhere if the word has a column in its
   *  place. */
  static __device__ uint8_t* entry(unsigned features, uint64_t word, const PacketPlaces& places) {
    if ((features & Program::kColumnInWords) != 0) return nullptr;
    return ((features & Program::kCopies) != 0 ? places.twins : places.packets) + offset_of(word);
  }

  /** Called, not inlined: else kernels of rings spill registers. */
  static __device__ __noinline__ void copy_apart(const TileCopy& copy, const Block& block) { copy.copy(block); }
  __device__ TileCopy& tile_copy() const { return *reinterpret_cast<TileCopy*>(memory_ + program_.scratch_at); }

  /** Copies the packets to their twins, or to those of where they land. The lanes of warp 0 have their words and say
   *  whether there is a packet; returns their words with the place where it is from now on. */
  __device__ uint64_t gather(const Slot& slot, const PacketPlaces& places, uint64_t word, bool present) {
    TileCopy& copy = tile_copy();
    const auto start = reinterpret_cast<uintptr_t>(places.packets + offset_of(word));
    const Range mine = present ? program_.copies.gathered(start, tile_.length_[block_.thread]) : Range{};
    ptrdiff_t far = places.twins - places.packets;
    if (block_.thread == 0) tile_.landed_ = false;
    if (program_.copies.landing != Landing::none && block_.thread < kSlotPackets) {
      const ptrdiff_t moved = landing(slot, reinterpret_cast<uintptr_t>(places.packets), mine);
      far += moved;
      word += static_cast<uint64_t>(moved);
      tile_.word_[block_.thread] = word;
    }
    copy.lay_out(block_, mine, far);
    copy.enter(block_, *places.gate);
    copy.copy(block_);
    copy.leave(block_, *places.gate);
    block_.sync();
    return word;
  }

  /** How far from this lane's packet, of which `mine` is gathered, the place where it lands is. Warp 0. */
  __device__ ptrdiff_t landing(const Slot& slot, uintptr_t packets, const Range& mine) {
    const uint64_t first = *const_cast<const volatile uint64_t*>(&slot.landing);
    if (first == kNoPacket) return 0;
    if (block_.thread == 0) tile_.landed_ = true;
    const uint32_t bytes = program_.copies.landing_bytes(mine);
    const uint32_t before = Group<kLanes>(block_).inclusive_sum(bytes) - bytes;
    return bytes == 0 ? 0 : static_cast<ptrdiff_t>(packets + first + before + program_.copies.front - mine.first);
  }

  /** Copies what the program has changed back to the packets. The lanes of warp 0 say whether theirs, if they have one,
   *  is wanted. */
  __device__ void write_back(const PacketPlaces& places, bool wanted) {
    TileCopy& copy = tile_copy();
    const int i = block_.thread;
    const uint64_t word = wanted ? tile_.word_[i] : kNoPacket;
    Range range;
    if (offset_of(word) != kNoPacket) {
      const auto twin = reinterpret_cast<uintptr_t>(places.twins + offset_of(word));
      // Where it lands there is nothing of it yet.
      range = tile_.landed_
                  ? program_.copies.gathered(twin, length_of(word))
                  : program_.copies.written_back(twin, length_of(word), reinterpret_cast<uintptr_t>(tile_.frame_[i]),
                                                 tile_.length_[i]);
    }
    copy.lay_out(block_, range, places.packets - places.twins);
    copy.copy(block_);
    block_.sync();
  }

  /** Takes packets that are in the tile from `node`, for this lane's packet, to where they leave. */
  __device__ int travel(int node) {
    const int i = block_.thread;
    const bool keeps_ways = kWarps == 1 || i < kSlotPackets;
    for (;;) {
      // Nodes stand in topological order: the lowest that packets are at is complete.
      int n = kExit;
      if (keeps_ways) {
        n = __reduce_min_sync(~0u, node);
        if constexpr (kWarps == 1 && !kOnRings)
          if (n >= kExit) return node;
        const int count = compact(node == n, tile_.list_);
        tile_.next_[i] = 0;
        if (i == 0) tile_.count_ = count, tile_.node_ = n;
        if (n > 0 && n < kExit) count_packets(n, count, node == n);
      }
      block_.sync();
      if constexpr (kOnRings || kWarps > 1) n = tile_.node_;
      if constexpr (kOnRings)
        if (keeps_ways && program_.turns != 0) Turn::reach(tile_.turn_, program_, n);
      if (n >= kExit) return node;
      const Program::Node& what = program_.nodes[n];
      if (what.function >= 0) {
        dispatch<Call>(what);
      } else if (keeps_ways) {
        neutral(what, node == n);
      }
      block_.sync();
      if (!keeps_ways) continue;
      // So that it is in no register meanwhile. Lane 0 will write it in the next round, and may be ahead of others.
      if constexpr (kOnRings || kWarps > 1) n = tile_.node_, __syncwarp();
      if (node == n) {
        const Program::Node& left = program_.nodes[n];
        const unsigned next = tile_.next_[i];
        node = program_.targets[left.first_target + (next < kDrop ? next : left.outputs + (next - kDrop))];
      }
    }
  }

  __device__ void count_packets(int n, int count, bool mine) {
    const unsigned bytes = __reduce_add_sync(~0u, mine ? tile_.length_[block_.thread] : 0);
    if (block_.thread != 0) return;
    count_up(program_.counts[n].packets, static_cast<unsigned>(count));
    count_up(program_.counts[n].bytes, bytes);
  }

  /** Columns of packet i from the slot into the tile, or back. */
  template <bool kIn>
  __device__ void copy_columns(int i) {
    const ColumnSet set = kIn ? program_.columns_in : program_.columns_out;
    uint32_t* at = tile_.slot_columns_ + (kIn ? 0 : program_.columns_out_at * kSlotPackets);
    for (ColumnSet rest = set; rest != 0; rest &= rest - 1) {
      const int which = __ffsll(static_cast<long long>(rest)) - 1, width = words(static_cast<Column>(which));
      uint32_t* const here = tile_.columns_ + program_.place[which] * kSlotPackets;
      for (int word = 0; word < width; ++word) {  // packet i has words width * i, width * i + 1
        if (kIn)
          here[width * i + word] = at[width * i + word];
        else
          at[width * i + word] = here[width * i + word];
      }
      at += width * kSlotPackets;
    }
  }

  template <class Result>
  static __device__ void store_result(Result& result, Result value, bool fence) {
    // What was only read needs no fence: the result depends on it. The sanitizers of simt do not know that.
#ifdef HEDDLE_SIMT
    constexpr bool kFenceAlways = true;
#else
    constexpr bool kFenceAlways = false;
#endif
    if (kFenceAlways || fence)
      SystemAtomic<Result>(result).store(value, cuda::memory_order_release);
    else
      SystemAtomic<Result>(result).store(value, cuda::memory_order_relaxed);
  }

  struct Call {
    template <class Function>
    static __device__ void run(const Block& block, Tile& tile, const NodeMemory& memory) {
      call<Function>(block, tile, memory);
    }
  };
  struct Fill {
    template <class Function>
    static __device__ void run(const Block& block, Tile&, const NodeMemory& memory) {
      if constexpr (HasShared<Function>)
        Function::fill(block, *static_cast<typename Function::Shared*>(memory.shared), table_of<Function>(memory));
    }
  };

  /** Tells the compiler where something lies: shared addresses are a register each instead of two. To be said once of a
   *  pointer, and of none that is made of it: what nvcc 13 knows already it takes for false, and the function for one
   *  that is never called. */
  static __device__ void lies_in_shared_memory([[maybe_unused]] const void* what) {
#ifdef __CUDA_ARCH__
    __builtin_assume(__isShared(what));
#endif
  }

  // Functions that want several warps do a lot for each packet: a call costs them nothing, and their registers stay
  // theirs. Those that one warp of several calls are called for the registers alone.
  template <class What, class Function>
  static __device__ __noinline__ void run_apart(const Block& block, Tile& tile, const NodeMemory& memory) {
    lies_in_shared_memory(&tile), lies_in_shared_memory(memory.scratch), lies_in_shared_memory(memory.shared);
    What::template run<Function>(block, tile, memory);
  }
  /** Whether the function is in this kernel. */
  template <FunctionId id>
  static constexpr bool is_here() {
    if constexpr (IsRegistered<id>)
      return Registered<id>::kTraits.warps <= kMaxWarps &&
             (kOnRings ? Registered<id>::kTraits.on_rings : !Registered<id>::kTraits.in_turn);
    else
      return false;
  }
  template <class What, FunctionId id>
  __device__ void run_if_here([[maybe_unused]] const NodeMemory& memory) {
    if constexpr (is_here<id>()) {
      using Function = typename Registered<id>::Type;
      if constexpr (kWarps > 1 && Registered<id>::kTraits.in_turn) {
        if (block_.thread < kLanes) run_apart<What, Function>(Block{block_.thread, kLanes}, tile_, memory);
      } else if constexpr (Registered<id>::kTraits.warps > 1)
        run_apart<What, Function>(block_, tile_, memory);
      else
        What::template run<Function>(block_, tile_, memory);
    }
  }
  // By a switch, of which the compiler makes a search by halves: to compare with one function after the other took half
  // a microsecond a node.
  template <class What>
  __device__ void dispatch(const Program::Node& node) {
    auto* const block_memory = reinterpret_cast<uint4*>(tile_.columns_);
    const NodeMemory memory{node.table, node.state, block_memory + program_.scratch_at, block_memory + node.shared_at};
    switch (static_cast<FunctionId>(node.function)) {
#define HEDDLE_GPU_FUNCTION_ID(name)             \
  case FunctionId::name:                         \
    run_if_here<What, FunctionId::name>(memory); \
    break;
#include "gpu_function_ids.inc"
#undef HEDDLE_GPU_FUNCTION_ID
      case FunctionId::count:
        break;
    }
  }

  // Neutral elements: lane i of warp 0 does packet i.
  __device__ void neutral(const Program::Node& what, bool mine) {
    const int i = block_.thread;
    const bool fits = mine && tile_.length_[i] >= bytes_needed(what.neutral);
    if (mine && !fits) tile_.drop(i, 0);
    if (what.neutral.kind == NeutralOp::kLoadDst) {
      const uint32_t address = load_u32_each(tile_.frame_[i] + what.neutral.amount, fits);
      if (fits) tile_.column(Column::dst, i) = address;
    } else if (fits && what.neutral.kind == NeutralOp::kMoveHead) {
      tile_.move_head(i, what.neutral.amount);
    } else if (fits && what.neutral.kind == NeutralOp::kPaint) {
      tile_.column(Column::paint, i) = static_cast<uint32_t>(what.neutral.amount);
    }
  }

  const Block& block_;
  Program& program_;
  Tile& tile_;
  uint4* memory_;
};

}  // namespace heddle::gpu
