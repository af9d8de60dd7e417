#include "core/huge_pages.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "core/error.h"

namespace heddle {

HugePages map_huge_pages(size_t wanted) {
  constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;
  const size_t bytes = (wanted + kPage - 1) & ~(kPage - 1), reserve = bytes + kHugePage;
  void* start = mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    throw Error(format("cannot map %zu MiB: %s; free memory or raise ulimit -v", bytes >> 20, std::strerror(errno)));
  auto* begin = static_cast<std::byte*>(start);
  const size_t skip = -reinterpret_cast<uintptr_t>(begin) % kHugePage, tail = kHugePage - skip;
  if (skip > 0) munmap(begin, skip);
  if (tail > 0) munmap(begin + skip + bytes, tail);
  madvise(begin + skip, bytes, MADV_HUGEPAGE);  // only a hint: without huge pages accesses are slower, not wrong
  return HugePages(begin + skip, {bytes});
}

void Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

}  // namespace heddle
