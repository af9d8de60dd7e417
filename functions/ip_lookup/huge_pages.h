#pragma once

#include <cstddef>
#include <memory>

namespace heddle::ip_lookup {

struct Unmap {
  size_t bytes;
  void operator()(std::byte* memory) const;
};
using Mapping = std::unique_ptr<std::byte, Unmap>;

/** `bytes` of zeros that start at a huge page, backed by huge pages where the system gives them; untouched pages use no
 *  memory. Throws Error when they cannot be mapped. */
Mapping map_huge_pages(size_t bytes);

}  // namespace heddle::ip_lookup
