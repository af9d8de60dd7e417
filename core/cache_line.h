#pragma once

#include <cstddef>
#include <new>

namespace heddle {

constexpr std::size_t kCacheLine = 64;  ///< bytes

/** Allocator of whole cache lines, for arrays that a packet thread writes at every batch: what others read, such as a
 *  statistics reader, never lies on a line of theirs. Throws std::bad_alloc. */
template <class T>
struct CacheLines {
  using value_type = T;
  CacheLines() = default;
  template <class Other>
  CacheLines(const CacheLines<Other>&) {}
  T* allocate(std::size_t n) {
    const std::size_t bytes = (n * sizeof(T) + kCacheLine - 1) / kCacheLine * kCacheLine;
    return static_cast<T*>(::operator new (bytes, std::align_val_t{kCacheLine}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{kCacheLine}); }
  bool operator==(const CacheLines&) const = default;
};

}  // namespace heddle
