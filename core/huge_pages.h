#pragma once

#include <cstddef>
#include <memory>

namespace heddle {

struct Unmap {
  size_t bytes = 0;
  void operator()(std::byte* memory) const;
};
using HugePages = std::unique_ptr<std::byte, Unmap>;

/** `bytes` of zeros that start at a huge page, backed by huge pages where the system gives them; untouched pages use no
 *  memory. For what is accessed at random and is larger than the 4 KB pages that a core's TLB holds. Throws Error when
 *  they cannot be mapped. */
HugePages map_huge_pages(size_t bytes);

}  // namespace heddle
