#pragma once

// The kernel that runs segments, in a few shapes, and the one that patches tables.

#include "kernels/dynamic_shared.cuh"
#include "kernels/tile_runner.cuh"

namespace heddle::gpu {

/** Warps of a block, ascending. A segment gets the smallest shape with the warps that its functions want. */
constexpr int kShapes[] = {1, 4, 8};
constexpr int kShapeCount = sizeof kShapes / sizeof kShapes[0];

/** What a launch serves: block b assignments[b], until the slot says stop (resident), or slots[b] once, whose words are
 *  there already. */
struct Serving {
  const Assignment* assignments;  ///< device memory; null: `slots`
  Slot* slots;                    ///< pinned
  PacketPlaces places;
};

template <int kWarps>
static __global__ void __launch_bounds__(kWarps* kLanes, 16 / kWarps) serve(Serving serving) {
  __shared__ Program program;
  __shared__ Tile tile;
  __shared__ int order;  // what warp 0 tells the others
  enum Order : int { kStop, kGo, kSwitchFirst };
  const Block block{static_cast<int>(threadIdx.x), kWarps * kLanes};
  const bool resident = serving.assignments != nullptr;
  const Assignment mine =
      resident ? serving.assignments[blockIdx.x] : Assignment{serving.slots + blockIdx.x, nullptr, 0, 0};
  TileRunner<kWarps> runner(block, program, tile, dynamic_shared());
  for (uint32_t stamp = 1;; stamp = next_stamp(stamp)) {
    uint64_t word = 0;
    int what = kStop;
    if (kWarps == 1 || block.thread < kLanes) {
      word = resident ? wait_for(mine, stamp) : load_word(*mine.slot);
      if (__any_sync(~0u, word != 0)) what = !resident || __any_sync(~0u, (word & kSwitch) != 0) ? kSwitchFirst : kGo;
    }
    if constexpr (kWarps > 1) {
      if (block.thread == 0) order = what;
      block.sync();
      what = order;
    }
    if (what == kStop) return;
    if (what == kSwitchFirst) runner.take_up(*mine.slot);
    runner.run(*mine.slot, word, serving.places);
    if (!resident) return;
    block.sync();
  }
}

/** A word of a table that changes. */
struct WordPatch {
  uint64_t at;     ///< device address, a multiple of `bytes`
  uint64_t value;  ///< its low `bytes` count
  uint32_t bytes;  ///< 1, 2, 4 or 8
};

/** Stores scattered words, each whole, while other kernels read them. `patches`: [count], pinned. */
static __global__ void __launch_bounds__(256) patch_words(const WordPatch* patches, uint32_t count) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const WordPatch patch = patches[i];
    if (patch.bytes == 8)
      *reinterpret_cast<volatile uint64_t*>(patch.at) = patch.value;
    else if (patch.bytes == 4)
      *reinterpret_cast<volatile uint32_t*>(patch.at) = static_cast<uint32_t>(patch.value);
    else if (patch.bytes == 2)
      *reinterpret_cast<volatile uint16_t*>(patch.at) = static_cast<uint16_t>(patch.value);
    else
      *reinterpret_cast<volatile uint8_t*>(patch.at) = static_cast<uint8_t>(patch.value);
  }
}

}  // namespace heddle::gpu
