#pragma once

// The two kernels. Both run the same tile through the same program; they differ in how a block learns of work.

#include <cuda_runtime.h>

#include <utility>

#include "gpu/bytes.cuh"
#include "gpu/program.h"
#include "gpu/registry.cuh"
#include "gpu/slot.h"
#include "kernels/wait.cuh"
// Made by the build: includes every functions/<name>/gpu.cu.
#include "gpu_functions.inc"

namespace heddle::gpu {

constexpr int kFunctions = __COUNTER__ - kBeforeFirst - 1;

/** What a block of the persistent kernel works for. Device memory. */
struct Assignment {
  Slot* slot;
  const Program* program;
  uint32_t index;  ///< of the slot in its group
};

class TileRunner {
 public:
  /** Takes the packets of `slot` through `program` and writes the result words. The whole block calls it; lane i holds
   * the word of packet i. */
  static __device__ void run(const Block& block, Tile& tile, const Program& program, Slot& slot, uint64_t word,
                             uint8_t* packets) {
    const int lane = block.thread;
    const bool present = offset_of(word) != kNoPacket;
    int node = present ? 0 : kExit;  // a lane without a packet has left already
    if (program.word_has_dst) {
      tile.frame_[lane] = nullptr;
      tile.column(Column::dst, lane) = static_cast<uint32_t>(word);
    } else {
      tile.frame_[lane] = packets + (offset_of(word) & ~kTight);
    }
    tile.length_[lane] = length_of(word);
    tile.has_room_[lane] = (word & kTight) == 0;
    const uint8_t* const end = tile.frame_[lane] + tile.length_[lane];
    for (int c = 0; c < kColumns; ++c)
      if (program.columns_in >> c & 1) tile.column_[c][lane] = slot.column[c][lane];

    for (int n = 0; n < program.count; ++n) {
      const unsigned mine = __ballot_sync(~0u, node == n);
      if (mine == 0) continue;
      if (node == n) tile.list_[__popc(mine & ((1u << lane) - 1))] = static_cast<uint8_t>(lane);
      tile.next_[lane] = 0;
      if (lane == 0) tile.count_ = __popc(mine);
      block.sync();
      const Program::Node& what = program.nodes[n];
      if (what.function >= 0) {
        dispatch(what.function, block, tile, what.table, std::make_integer_sequence<int, kFunctions>());
      } else {
        neutral(block, tile, what, node == n);
      }
      block.sync();
      if (node == n) {
        const unsigned next = tile.next_[lane];
        node = program.targets[what.first_target + (next < kDrop ? next : what.outputs + (next - kDrop))];
      }
    }
    for (int c = 0; c < kColumns; ++c)
      if (program.columns_out >> c & 1) slot.column[c][lane] = tile.column_[c][lane];
    const auto tail = static_cast<int>(tile.frame_[lane] + tile.length_[lane] - end);
    const uint32_t result = pack_result(stamp_of(word), tail, static_cast<uint32_t>(node - kExit));
    block.sync();  // every thread's packet bytes come before every result word
    // What was only read needs no fence: the result depends on it. The sanitizers of simt do not know that.
#ifdef HEDDLE_SIMT
    constexpr bool kFenceAlways = true;
#else
    constexpr bool kFenceAlways = false;
#endif
    if (kFenceAlways || program.writes_packets || program.columns_out != 0) {
      SystemAtomic<uint32_t>(slot.result[lane]).store(result, cuda::memory_order_release);
    } else {
      SystemAtomic<uint32_t>(slot.result[lane]).store(result, cuda::memory_order_relaxed);
    }
  }

 private:
  template <int... ids>
  static __device__ void dispatch(int id, const Block& block, Tile& tile, const void* table,
                                  std::integer_sequence<int, ids...>) {
    ((id == ids ? Registered<ids>::run(block, tile, table) : void()), ...);
  }

  // Neutral elements: lane i does packet i.
  static __device__ void neutral(const Block& block, Tile& tile, const Program::Node& what, bool mine) {
    const int i = block.thread;
    const bool fits = mine && tile.length_[i] >= bytes_needed(what.neutral);
    if (mine && !fits) tile.drop(i, 0);
    if (what.neutral.kind == NeutralOp::kLoadDst) {
      const uint32_t address = load_u32_each(tile.frame_[i] + what.neutral.amount, fits);
      if (fits) tile.column(Column::dst, i) = address;
    } else if (what.neutral.kind == NeutralOp::kCount) {
      const unsigned bytes = __reduce_add_sync(~0u, mine ? tile.length_[i] : 0);
      if (i == 0) {
        atomicAdd(&what.counts[0], static_cast<unsigned long long>(tile.count_));
        atomicAdd(&what.counts[1], static_cast<unsigned long long>(bytes));
      }
    } else if (fits && what.neutral.kind == NeutralOp::kMoveHead) {
      tile.frame_[i] += what.neutral.amount;
      tile.length_[i] -= static_cast<uint32_t>(what.neutral.amount);
    } else if (fits) {
      tile.column(Column::paint, i) = static_cast<uint32_t>(what.neutral.amount);
    }
  }
};

/** Launch mode sync: block b does slots[b], whose words are there already. One warp a block. */
static __global__ void __launch_bounds__(kTile) launched_kernel(Slot* slots, const Program* program, uint8_t* packets) {
  __shared__ Program here;
  __shared__ Tile tile;
  const Block block{static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
  if (block.thread == 0) here = *program;
  block.sync();
  Slot& slot = slots[blockIdx.x];
  const uint64_t word = SystemAtomic<uint64_t>(slot.word[block.thread]).load(cuda::memory_order_acquire);
  block.sync();
  TileRunner::run(block, tile, here, slot, word, packets);
}

/** Launch mode persistent: block b serves assignments[b] until its slot says stop. One warp a block. */
static __global__ void __launch_bounds__(kTile) persistent_kernel(const Assignment* assignments, uint8_t* packets) {
  __shared__ Program here;
  __shared__ Tile tile;
  const Block block{static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
  const Assignment mine = assignments[blockIdx.x];
  if (block.thread == 0) here = *mine.program;
  block.sync();
  for (uint32_t stamp = 1;; stamp = next_stamp(stamp)) {
    const uint64_t word = wait_for(*mine.slot, stamp, mine.index);
    if (word == 0) return;
    TileRunner::run(block, tile, here, *mine.slot, word, packets);
    block.sync();
  }
}

}  // namespace heddle::gpu
