#pragma once

#include <cstddef>

namespace heddle {

/** Where packet buffers live. With a GPU this is pinned memory that kernels reach, else ordinary memory. */
struct PacketMemory {
  std::byte* base = nullptr;
  size_t bytes = 0;
};

}  // namespace heddle
