#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace heddle::gpu {

/** What the GPU side of a function asks of the block that runs it. */
struct FunctionTraits {
  std::string_view name;  ///< of the element class
  int warps = 1;          ///< that it wants for a tile, 1..8; it gets them, or more
  bool on_rings = true;   ///< whether it is in the kernels of GPU ports as well
  bool in_turn = false;   ///< whether it wants packets in the order of arrival, which kernels of GPU ports alone give
  int passes = 1;         ///< how often it goes over the bytes that it has declared
  size_t scratch_bytes = 0;  ///< shared memory that it uses while it runs; others use the same after it
  size_t shared_bytes = 0;   ///< shared memory that it fills once and finds again at every tile
  size_t state_bytes = 0;    ///< memory that it changes and that outlives tiles
};

/** The functions in the kernels' switch, by their index there. The build makes the list from
 *  functions/<name>/gpu.cu. */
std::span<const FunctionTraits> functions();

/** Index of the GPU side of element class `class_name`, or -1 if it has none. */
int function_id(std::string_view class_name);

}  // namespace heddle::gpu
