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
      if (tile.length(i) < kLeastBytes) {
        tile.drop(i, kShort);
      } else if (tile.length(i) >= 16 && gpu::is_aligned<16>(frame)) {
        auto* at = reinterpret_cast<uint4*>(frame);
        const uint4 old = *at;
        const Addresses a = mirrored({old.x | uint64_t{old.y} << 32, old.z});
        const auto low = static_cast<uint32_t>(a.first_eight), high = static_cast<uint32_t>(a.first_eight >> 32);
        *at = make_uint4(low, high, a.last_four, old.w);
      } else {
        const uint64_t low = gpu::load_u32(frame), high = gpu::load_u32(frame + 4);
        const Addresses a = mirrored({low | high << 32, gpu::load_u32(frame + 8)});
        gpu::store_u32(frame, static_cast<uint32_t>(a.first_eight));
        gpu::store_u32(frame + 4, static_cast<uint32_t>(a.first_eight >> 32));
        gpu::store_u32(frame + 8, a.last_four);
      }
    }
  }
};

}  // namespace heddle::ether_mirror

HEDDLE_GPU_FUNCTION(EtherMirror, heddle::ether_mirror::MirrorTile);
