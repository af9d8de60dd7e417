#pragma once

#include "functions/flow/bucket.h"
#include "gpu/registry.cuh"

namespace heddle::flow {

/** A thread for each flow, that of the flow's first packet in the tile, takes the tokens of all of its packets there,
 *  in their order and by one atomic operation. Tiles that have packets of a flow at the same time come in any order. */
struct LimitTile {
  using Table = Limits;
  using State = PlaceBucket;               // the first of Places::count
  static constexpr bool kOnRings = false;  // there are no flows

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Limits& limits, PlaceBucket& first) const {
    const int k = block.thread;
    const bool mine = k < tile.count();
    const uint32_t flow = mine ? tile.column(Column::flow, tile.packet(k)) : 0, place = limits.places.place_in(flow);
    const unsigned same = __match_any_sync(~0u, flow) & __ballot_sync(~0u, mine);
    if (!mine || (same & ((1u << k) - 1)) != 0 || place >= limits.places.count) return;
    unsigned over = take(tile, same, limits, &first + place, limits.places.generation_in(flow));
    for (; over != 0; over &= over - 1) {
      const int i = tile.packet(__ffs(static_cast<int>(over)) - 1);
      limits.has_other_output != 0 ? tile.next(i, 1) : tile.drop(i, 0);
    }
  }

 private:
  /** Takes tokens for the tile's packets `same`, bit k: the k-th; returns those for which there were none. Of a flow
   *  that is over, and whose place another has, all pass. */
  static __device__ __noinline__ unsigned take(gpu::Tile& tile, unsigned same, const Limits& limits, PlaceBucket* word,
                                               uint32_t generation) {
    for (PlaceBucket now = __ldcg(word);;) {
      const bool known = is_bucket_of(now, generation);
      if (!known && is_bucket_after(now, generation, limits.places)) return 0;
      Bucket bucket = Bucket::of(known ? bucket_in(now) : 0, ms_of(tile, same));
      unsigned over = 0;
      for (unsigned rest = same; rest != 0; rest &= rest - 1)
        if (!bucket.take(limits, ms_of(tile, rest))) over |= rest & (0 - rest);
      const PlaceBucket before = atomicCAS(word, now, static_cast<PlaceBucket>(bucket_word(generation, bucket)));
      if (before == now) return over;
      now = before;
    }
  }
  /** When the first of these packets came. */
  static __device__ uint32_t ms_of(gpu::Tile& tile, unsigned packets) {
    return tile.column(Column::flow_ms, tile.packet(__ffs(static_cast<int>(packets)) - 1));
  }
};

}  // namespace heddle::flow
