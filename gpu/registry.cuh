#pragma once

#include "gpu/tile.cuh"

namespace heddle::gpu {

/** For functions that need no table. */
struct NoTable {};

/** The functions of the kernels' switch, numbered in the order in which the build includes functions/<name>/gpu.cu. */
template <int id>
struct Registered;

constexpr int kBeforeFirst = __COUNTER__;

/** Puts `Function`, the GPU side of element class `Element`, into the kernels. `Function` has a type `Table` (the
 * layout of Element::table()) and `__device__ void operator()(const Block&, Tile&, const Table&) const`, called by all
 * threads of the block. */
#define HEDDLE_GPU_FUNCTION(Element, Function)                                                                \
  template <>                                                                                                 \
  struct heddle::gpu::Registered<__COUNTER__ - heddle::gpu::kBeforeFirst - 1> {                               \
    static constexpr const char* kName = #Element;                                                            \
    static __device__ void run(const heddle::gpu::Block& block, heddle::gpu::Tile& tile, const void* table) { \
      Function{}(block, tile, *static_cast<const Function::Table*>(table));                                   \
    }                                                                                                         \
  }

}  // namespace heddle::gpu
