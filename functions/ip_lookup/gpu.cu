#include "functions/ip_lookup/rule.h"
#include "functions/ip_lookup/table.h"
#include "gpu/registry.cuh"

namespace heddle::ip_lookup {

// One thread a packet; the table lies in GPU memory.
struct LookupTile {
  using Table = RouteImage;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Table& table) const {
    for (int i : tile.mine(block)) {
      const uint32_t address = __byte_perm(tile.column(Column::dst, i), 0, 0x0123);
      const uint16_t index = dir24_lookup(table.tbl24, table.tbl8[0], address);
      if (index == 0) {
        tile.drop(i, 0);
        continue;
      }
      if (index <= kPlainHops) {
        tile.next(i, index - 1u);
        continue;
      }
      const Hop hop = table.hops[index];
      tile.next(i, hop.port);
      if (hop.gateway != 0) tile.column(Column::dst, i) = hop.gateway;
    }
  }
};

}  // namespace heddle::ip_lookup

HEDDLE_GPU_FUNCTION(DirectIPLookup, heddle::ip_lookup::LookupTile);
