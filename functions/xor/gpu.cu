#include "functions/xor/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::xor_bytes {

// All threads walk the 16-byte pieces of all packets.
struct XorTile {
  using Table = Key;
  struct Change {
    Key key;
    __device__ uint32_t operator()(uint32_t byte) const { return changed(byte, key); }
    __device__ uint4 operator()(uint4 x) const {
      return make_uint4(changed(x.x, key), changed(x.y, key), changed(x.z, key), changed(x.w, key));
    }
  };
  using Scratch = gpu::Pieces;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Table& key, Scratch& pieces) const {
    gpu::transform_bytes(block, tile, pieces, Change{key});
  }
};

}  // namespace heddle::xor_bytes

HEDDLE_GPU_FUNCTION(XOR, heddle::xor_bytes::XorTile);
