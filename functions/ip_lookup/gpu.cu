#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/linear_table.h"
#include "functions/ip_lookup/radix_table.h"
#include "gpu/registry.cuh"

namespace heddle::ip_lookup {

// One thread a packet; the table lies in GPU memory.
template <class Image>
struct LookupTile {
  using Table = Image;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& table) const {
    for (int i : tile.mine(block)) {
      const uint32_t address = __byte_perm(tile.column(Column::dst, i), 0, 0x0123);
      const uint16_t index = hop_of(table, address);
      if (index == 0) {
        tile.drop(i, 0);
        continue;
      }
      if (index <= kPlainHops) {
        tile.next(i, index - 1u);
        continue;
      }
      // Not through L1: a new entry may name a hop whose line was read before it was written, when it was nobody's.
      const Hop hop{__ldcg(&table.hops[index].gateway), __ldcg(&table.hops[index].port)};
      tile.next(i, hop.port);
      if (hop.gateway != 0) tile.column(Column::dst, i) = hop.gateway;
    }
  }
};

}  // namespace heddle::ip_lookup

HEDDLE_GPU_FUNCTION(DirectIPLookup, heddle::ip_lookup::LookupTile<heddle::ip_lookup::DirectImage>);
HEDDLE_GPU_FUNCTION(RadixIPLookup, heddle::ip_lookup::LookupTile<heddle::ip_lookup::RadixImage>);
HEDDLE_GPU_FUNCTION(LinearIPLookup, heddle::ip_lookup::LookupTile<heddle::ip_lookup::LinearImage>);
