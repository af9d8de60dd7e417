#include "functions/ether_mirror/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::ether_mirror {

// One thread a packet. Sixteen bytes are read and written at once where they are aligned: one PCIe read and one write.
struct MirrorTile {
  using Table = gpu::NoTable;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Table&) const {
    for (int i : tile.mine(block)) {
      uint8_t* frame = tile.frame(i);
      if (tile.length(i) < kMinBytes) {
        tile.drop(i, kShort);
      } else if (tile.length(i) >= 16 && gpu::is_aligned<16>(frame)) {
        auto* at = reinterpret_cast<uint4*>(frame);
        const uint4 old = *at;
        const Addresses a = mirrored({old.x | uint64_t{old.y} << 32, old.y | uint64_t{old.z} << 32});
        *at = make_uint4(static_cast<uint32_t>(a.from_0), static_cast<uint32_t>(a.from_4),
                         static_cast<uint32_t>(a.from_4 >> 32), old.w);
      } else {
        const uint64_t x = gpu::load_u32(frame), y = gpu::load_u32(frame + 4), z = gpu::load_u32(frame + 8);
        const Addresses a = mirrored({x | y << 32, y | z << 32});
        gpu::store_u32(frame, static_cast<uint32_t>(a.from_0));
        gpu::store_u32(frame + 4, static_cast<uint32_t>(a.from_4));
        gpu::store_u32(frame + 8, static_cast<uint32_t>(a.from_4 >> 32));
      }
    }
  }
};

}  // namespace heddle::ether_mirror

HEDDLE_GPU_FUNCTION(EtherMirror, heddle::ether_mirror::MirrorTile);
