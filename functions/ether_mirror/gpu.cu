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
        const Addresses a = mirrored({{old.x, old.y, old.z}});
        *at = make_uint4(a.word[0], a.word[1], a.word[2], old.w);
      } else {
        gpu::store(frame, mirrored(gpu::load<Addresses>(frame)));
      }
    }
  }
};

}  // namespace heddle::ether_mirror

HEDDLE_GPU_FUNCTION(EtherMirror, heddle::ether_mirror::MirrorTile);
