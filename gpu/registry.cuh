#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "gpu/functions.h"
#include "gpu/tile.cuh"

namespace heddle::gpu {

/** For functions that need no table. */
struct NoTable {};

/** The functions of the kernels' switch, by the names that stand in HEDDLE_GPU_FUNCTION. */
enum class FunctionId : int16_t {
#define HEDDLE_GPU_FUNCTION_ID(name) name,
#include "gpu_function_ids.inc"
#undef HEDDLE_GPU_FUNCTION_ID
  count
};
constexpr int kFunctions = static_cast<int>(FunctionId::count);

/** Complete for functions that are in these kernels. */
template <FunctionId id>
struct Registered;
template <FunctionId id>
concept IsRegistered = requires {
  sizeof(Registered<id>);
};

/** Where a block finds what a node works with. */
struct NodeMemory {
  const void* table;  ///< device memory
  void* state;        ///< device memory
  void* scratch;      ///< shared memory
  void* shared;       ///< shared memory
};

template <class Function>
concept HasScratch = requires {
  typename Function::Scratch;
};
template <class Function>
concept HasShared = requires {
  typename Function::Shared;
};
template <class Function>
concept HasState = requires {
  typename Function::State;
};

template <class Function>
constexpr FunctionTraits traits_of(std::string_view name) {
  FunctionTraits traits{name};
  if constexpr (requires { Function::kWarps; }) traits.warps = Function::kWarps;
  if constexpr (requires { Function::kOnRings; }) traits.on_rings = Function::kOnRings;
  if constexpr (requires { Function::kInTurn; }) traits.in_turn = Function::kInTurn;
  if constexpr (requires { Function::kPasses; }) traits.passes = Function::kPasses;
  if constexpr (HasScratch<Function>) traits.scratch_bytes = sizeof(typename Function::Scratch);
  if constexpr (HasShared<Function>) traits.shared_bytes = sizeof(typename Function::Shared);
  if constexpr (HasState<Function>) traits.state_bytes = sizeof(typename Function::State);
  return traits;
}

template <class Function>
__device__ const typename Function::Table& table_of(const NodeMemory& memory) {
  if constexpr (std::is_same_v<typename Function::Table, NoTable>) {
    static constexpr NoTable kNone;
    return kNone;
  } else {
    return *static_cast<const typename Function::Table*>(memory.table);
  }
}

// Adds what the function has declared to the arguments of its call, one after the other.
template <class Function, class... Arguments>
__device__ void call_with_state(const NodeMemory& memory, Arguments&... arguments) {
  if constexpr (HasState<Function>)
    Function{}(arguments..., *static_cast<typename Function::State*>(memory.state));
  else
    Function{}(arguments...);
}
template <class Function, class... Arguments>
__device__ void call_with_shared(const NodeMemory& memory, Arguments&... arguments) {
  if constexpr (HasShared<Function>)
    call_with_state<Function>(memory, arguments..., *static_cast<const typename Function::Shared*>(memory.shared));
  else
    call_with_state<Function>(memory, arguments...);
}
template <class Function>
__device__ void call(const Block& block, Tile& tile, const NodeMemory& memory) {
  const auto& table = table_of<Function>(memory);
  if constexpr (HasScratch<Function>)
    call_with_shared<Function>(memory, block, tile, table, *static_cast<typename Function::Scratch*>(memory.scratch));
  else
    call_with_shared<Function>(memory, block, tile, table);
}

/** Puts `Function`, the GPU side of element class `Element`, into the kernels. It must stand at the start of a line of
 *  functions/<name>/gpu.cu, where the build looks for it. `Function` has
 *
 *      using Table = ...;                     layout of the function's table (core/table.h), or gpu::NoTable
 *      static constexpr int kWarps = 4;       optional: warps that it wants for a tile, 1..8; 1 if it does not say
 *      static constexpr bool kOnRings = false;  optional: that kernels of GPU ports, which have no register to spare,
 *                                             are without it
 *      static constexpr bool kInTurn = true;  optional: that it wants tile.turn(), so that packets come in the order of
 *                                             arrival; it is in the kernels of GPU ports only, and one warp calls it
 *      static constexpr int kPasses = 2;      optional: how often it goes over the bytes; 1 if it does not say
 *      using Scratch = ...;                   optional: shared memory for the time of a call, uninitialised
 *      using Shared = ...;                    optional: shared memory that is filled once, when a block takes up a
 *                                             program, by
 *      static __device__ void fill(const Block&, Shared&, const Table&);
 *      using State = ...;                     optional: memory that outlives tiles and that all tiles share; zero at
 *                                             first; what the host sees of it: core/gpu_state.h
 *      __device__ void operator()(const Block&, Tile&, const Table&[, Scratch&][, const Shared&][, State&]) const;
 *
 *  and is called by all threads of the block. Its writes to the tile need no sync at its end. */
#define HEDDLE_GPU_FUNCTION(Element, Function)                                                         \
  template <>                                                                                          \
  struct heddle::gpu::Registered<heddle::gpu::FunctionId::Element> {                                   \
    using Type = Function;                                                                             \
    static constexpr heddle::gpu::FunctionTraits kTraits = heddle::gpu::traits_of<Function>(#Element); \
  }

}  // namespace heddle::gpu
