#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace heddle::capture {

/** A file mapped for reading. When another program shortens the file meanwhile, what is gone reads as zeros, and
 *  shortened() says so; by itself that would be a SIGBUS. (For up to 64 mappings at a time.) */
class Mapping {
 public:
  /** Null if the file system cannot map the file. */
  static std::unique_ptr<Mapping> make(int descriptor, size_t bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const uint8_t* data() const { return data_; }
  /** Whether bytes that were read have been zeros for lack of a file. */
  bool shortened() const { return shortened_.load(std::memory_order_relaxed); }

  /** For the signal handler: puts zeros from the page of `address` on, if that lies within. */
  bool fill_from(const void* address);

 private:
  Mapping(uint8_t* data, size_t bytes) : data_(data), bytes_(bytes) {}

  uint8_t* data_;
  size_t bytes_;
  std::atomic<bool> shortened_{false};
};

}  // namespace heddle::capture
