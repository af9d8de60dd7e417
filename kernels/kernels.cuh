#pragma once

// The kernel that runs segments, in a few shapes.

#include "kernels/shared_memory.cuh"
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

/** Blocks of a shape for which a multiprocessor has registers; ptxas keeps within them. Before sm_90 it would have to
 *  spill for 20 of one warp. */
constexpr int blocks_at_once(int warps) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  constexpr int kOfOneWarp = 16;
#else
  constexpr int kOfOneWarp = 20;
#endif
  return warps == 1 ? kOfOneWarp : 16 / warps;
}

template <int kWarps>
static __global__ void __launch_bounds__(kWarps* kLanes, blocks_at_once(kWarps)) serve(Serving serving) {
  __shared__ Uninitialized<Program> program_memory;
  Program& program = program_memory.value();
  __shared__ Tile tile;
  __shared__ int order;  // what warp 0 tells the others
  enum Order : int { kStop, kGo, kSwitchFirst };
  const Block block{static_cast<int>(threadIdx.x), kWarps * kLanes};
  __shared__ Assignment mine;  // this and the stamp in shared memory: registers are the functions'
  __shared__ uint32_t stamp;   // of the slot's next use
  const auto resident = [&] { return serving.assignments != nullptr; };
  if (block.thread == 0) stamp = 1;
  if (block.thread == 0)
    mine = resident() ? serving.assignments[blockIdx.x] : Assignment{serving.slots + blockIdx.x, nullptr, 0, 0};
  block.sync();
  TileRunner<kWarps> runner(block, program, tile, dynamic_shared());
  for (;;) {
    uint64_t word = 0;
    int what = kStop;
    if (kWarps == 1 || block.thread < kLanes) {
      word = resident() ? wait_for(mine, stamp) : load_word(*mine.slot);
      if (__any_sync(~0u, word != 0)) what = !resident() || __any_sync(~0u, (word & kSwitch) != 0) ? kSwitchFirst : kGo;
    }
    if constexpr (kWarps > 1) {
      if (block.thread == 0) order = what;
      block.sync();
      what = order;
    }
    if (what == kStop) return;
    if (what == kSwitchFirst) runner.take_up(*mine.slot);
    runner.run(*mine.slot, word, serving.places);
    if (!resident()) return;
    if (block.thread == 0) stamp = next_stamp(stamp);
    block.sync();
  }
}

}  // namespace heddle::gpu
