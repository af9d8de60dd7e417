#include "tests/support/failing.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <new>
#include <string>

#include "tests/support/sanitizer.h"

namespace heddle::test {
namespace {

thread_local bool counts = false;
thread_local uint64_t allocations = 0, fails_at = 0;

}  // namespace

void FailingAllocation::begin(uint64_t number) { counts = true, allocations = 0, fails_at = number; }

uint64_t FailingAllocation::end() {
  counts = false;
  return allocations;
}

int open_descriptors() {
  const std::filesystem::directory_iterator list("/proc/self/fd");
  return static_cast<int>(std::distance(begin(list), end(list))) - 1;  // its own
}

FewDescriptors::FewDescriptors(int more) {
  getrlimit(RLIMIT_NOFILE, &before_);
  // A descriptor is the lowest number that is free, and below the limit.
  rlim_t limit = 0;
  for (int left = more; left >= 0; ++limit)
    if (!std::filesystem::exists("/proc/self/fd/" + std::to_string(limit)) && --left < 0) break;
  const rlimit few{limit, before_.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
}

[[maybe_unused]] static void* allocated(size_t bytes, size_t alignment) {
  if (counts && ++allocations == fails_at) throw std::bad_alloc();
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t))
    memory = std::malloc(bytes == 0 ? 1 : bytes);
  else if (posix_memalign(&memory, alignment, bytes) != 0)
    memory = nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace heddle::test

#if !HEDDLE_SANITIZED  // sanitizers have their own, which see who frees what
// Those of the whole program; arrays and `nothrow` go by these. Compilers that see both sides would say that free() is
// not for what `new` has made.
#define HEDDLE_APART __attribute__((noinline))
HEDDLE_APART void* operator new(size_t bytes) { return heddle::test::allocated(bytes, 0); }
HEDDLE_APART void* operator new(size_t bytes, std::align_val_t alignment) {
  return heddle::test::allocated(bytes, static_cast<size_t>(alignment));
}
HEDDLE_APART void operator delete(void* memory) noexcept { std::free(memory); }
HEDDLE_APART void operator delete(void* memory, size_t) noexcept { std::free(memory); }
HEDDLE_APART void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
HEDDLE_APART void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
#endif
