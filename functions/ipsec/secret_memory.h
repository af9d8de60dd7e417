#pragma once

#include <string.h>
#include <sys/mman.h>

#include <cstddef>
#include <memory>

#include "core/error.h"

namespace heddle::ipsec {

/** Zeroed memory for keys: not in core dumps, and wiped at its end. Aligned to a page. */
class SecretMemory {
 public:
  SecretMemory() = default;
  SecretMemory(const SecretMemory&) = delete;
  SecretMemory& operator=(const SecretMemory&) = delete;
  ~SecretMemory() {
    if (data_ == nullptr) return;
    explicit_bzero(data_, size_);
    ::munmap(data_, size_);
  }

  /** Once. Throws Error. */
  void allocate(size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(format("no memory for %zu bytes of keys", bytes));
    ::madvise(memory, bytes, MADV_DONTDUMP);
    data_ = static_cast<std::byte*>(memory), size_ = bytes;
  }
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/** Wipes what it gives back, so that a vector that grows leaves no keys behind. */
template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) {}
  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* at, size_t count) {
    explicit_bzero(static_cast<void*>(at), count * sizeof(T));
    std::allocator<T>().deallocate(at, count);
  }
  bool operator==(const WipingAllocator&) const { return true; }
};

}  // namespace heddle::ipsec
