#include "functions/l2_switch/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::l2_switch {

// One thread a packet; the table lies in GPU memory.
struct SwitchTile {
  using Table = cuckoo::Image;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const cuckoo::Image& image) const {
    for (int i : tile.mine(block)) {
      if (tile.length(i) < kHeaderBytes) {
        tile.drop(i, kShort);
        continue;
      }
      const uint8_t* frame = tile.frame(i);
      const uint32_t high = __byte_perm(gpu::load_u32(frame), 0, 0x0123);
      const uint32_t low = __byte_perm(gpu::load_u32(frame + 2), 0, 0x0123) & 0xffff;
      const uint64_t key = uint64_t{high} << 16 | low;
      uint64_t word = 0;
      if (!is_group(key))
        cuckoo::search_unmoved(image, [&] { word = cuckoo::lookup(image, cuckoo::hash_of(image, key), key); });
      const uint32_t output = output_of(word, tile.column(Column::paint, i), image.owner);
      if (output == kStays)
        tile.drop(i, kSamePort);
      else
        tile.next(i, output);
    }
  }
};

}  // namespace heddle::l2_switch

HEDDLE_GPU_FUNCTION(L2Switch, heddle::l2_switch::SwitchTile);
