#pragma once

#include <string_view>

namespace heddle::gpu {

/** Index of the GPU side of element class `class_name` in the kernels' switch, or -1 if it has none. The list is made
 * by the build from the files functions/<name>/gpu.cu. */
int function_id(std::string_view class_name);

}  // namespace heddle::gpu
