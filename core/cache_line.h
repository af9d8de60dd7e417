#pragma once

#include <cstddef>
#include <new>

namespace heddle {

constexpr std::size_t kCacheLine = 64;  ///< bytes
constexpr std::size_t kPage = 4096;     ///< bytes

/** Allocator of memory that others do not share: whole units of kCacheLine for arrays that a packet thread writes at
 *  every batch; of kPage for those that a statistics reader goes through again and again. A core that goes through an
 *  array also fetches the lines behind it, at the end of a page those of the next, and would take them from a packet
 *  thread each time: a page that nobody uses follows. Throws std::bad_alloc. */
template <class T, std::size_t kUnit = kCacheLine>
struct Unshared {
  using value_type = T;
  template <class Other>
  struct rebind {
    using other = Unshared<Other, kUnit>;
  };
  Unshared() = default;
  template <class Other>
  Unshared(const Unshared<Other, kUnit>&) {}
  T* allocate(std::size_t n) {
    const std::size_t bytes = (n * sizeof(T) + kUnit - 1) / kUnit * kUnit + (kUnit == kPage ? kPage : 0);
    return static_cast<T*>(::operator new (bytes, std::align_val_t{kUnit}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{kUnit}); }
  bool operator==(const Unshared&) const = default;
};

}  // namespace heddle
