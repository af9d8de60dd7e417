#include "functions/flow/balance.cuh"
#include "functions/flow/limit.cuh"
#include "functions/flow/place_counts.h"
#include "gpu/registry.cuh"

namespace heddle::flow {

// One thread a packet. The first packet of a flow takes its place over from the flow before, whose packets may still
// come.
struct CountTile {
  using Table = Places;
  using State = PlaceCounts;               // the first of Places::count
  static constexpr bool kOnRings = false;  // there are no flows

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Places& places, PlaceCounts& first) const {
    for (int i : tile.mine(block)) {
      const uint32_t flow = tile.column(Column::flow, i), place = places.place_in(flow);
      if (place >= places.count) continue;
      PlaceCounts& counts = (&first)[place];
      add(counts.packets, 1, places, places.generation_in(flow));
      add(counts.bytes, tile.length(i), places, places.generation_in(flow));
    }
  }

 private:
  using Word = unsigned long long;

  static __device__ void add(Word& word, uint32_t more, const Places& places, uint32_t generation) {
    for (Word now = __ldcg(&word);;) {
      if (is_of(now, generation)) {
        if (count_in(now) >= kMaxCounted) return;
        now = atomicAdd(&word, static_cast<Word>(more));
        if (!is_of(now, generation)) take_back(word, now + more, more);
        return;
      }
      if (now != 0 && places.is_after(generation_of(now), generation)) return;  // the packet's flow is over
      const Word before = atomicCAS(&word, now, static_cast<Word>(counted(generation, more)));
      if (before == now) return;
      now = before;
    }
  }

  /** The flow of `now`, which has begun meanwhile, has got what was for the one before: takes it away, unless this flow
   *  is over, too. */
  static __device__ void take_back(Word& word, Word now, uint32_t more) {
    for (const Word whose = now >> kCountBits; now >> kCountBits == whose;) {
      const Word before = atomicCAS(&word, now, now - more);
      if (before == now) return;
      now = before;
    }
  }
};

}  // namespace heddle::flow

HEDDLE_GPU_FUNCTION(FlowCounter, heddle::flow::CountTile);
HEDDLE_GPU_FUNCTION(LoadBalancer, heddle::flow::BalanceTile);
HEDDLE_GPU_FUNCTION(RateLimiter, heddle::flow::LimitTile);
