#include "functions/echo/rule.h"
#include "gpu/registry.cuh"

namespace heddle::echo {

// One thread a packet; one addition in GPU memory a tile gives its packets their numbers.
struct EchoTile {
  using Table = Image;
  struct State {
    unsigned long long packets;
  };
  using Scratch = unsigned long long;
  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Image& image, Scratch& first,
                             State& state) const {
    if (block.thread == 0) first = atomicAdd(&state.packets, static_cast<unsigned long long>(tile.count()));
    block.sync();
    for (int k = block.thread; k < tile.count(); k += block.threads)
      tile.next(tile.packet(k), port_of(image, first + static_cast<unsigned long long>(k)));
  }
};

}  // namespace heddle::echo

HEDDLE_GPU_FUNCTION(Echo, heddle::echo::EchoTile);
