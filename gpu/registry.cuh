#pragma once

#include <type_traits>

#include "gpu/tile.cuh"

namespace heddle::gpu {

/** For functions that need no table. */
struct NoTable {};

/** The functions of the kernels' switch, numbered in the order in which the build includes functions/<name>/gpu.cu. */
template <int id>
struct Registered;

/** Calls a function with its table; one without has none to refer to. */
template <class Function>
__device__ void call(const Block& block, Tile& tile, const void* table) {
  if constexpr (std::is_same_v<typename Function::Table, NoTable>)
    Function{}(block, tile, NoTable{});
  else
    Function{}(block, tile, *static_cast<const typename Function::Table*>(table));
}

constexpr int kBeforeFirst = __COUNTER__;

/** Puts `Function`, the GPU side of element class `Element`, into the kernels. `Function` has a type `Table` (the
 * layout of Element::table()) and `__device__ void operator()(const Block&, Tile&, const Table&) const`, called by all
 * threads of the block. */
#define HEDDLE_GPU_FUNCTION(Element, Function)                                                                \
  template <>                                                                                                 \
  struct heddle::gpu::Registered<__COUNTER__ - heddle::gpu::kBeforeFirst - 1> {                               \
    static constexpr const char* kName = #Element;                                                            \
    static __device__ void run(const heddle::gpu::Block& block, heddle::gpu::Tile& tile, const void* table) { \
      heddle::gpu::call<Function>(block, tile, table);                                                        \
    }                                                                                                         \
  }

}  // namespace heddle::gpu
