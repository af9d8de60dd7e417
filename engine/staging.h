#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle {

/** Memory that packets are packed into on their way to a GPU: taken piece by piece, and given back in the same order.
 *  One thread uses it. */
class Staging {
 public:
  static constexpr size_t kAlignment = 64;

  /** `memory` is the caller's, aligned to kAlignment. */
  explicit Staging(std::span<std::byte> memory) : memory_(memory) {}

  /** Most that a piece may have, bytes; so much can be taken when nothing is in use. */
  size_t size() const { return memory_.size(); }
  /** `bytes` side by side, aligned to kAlignment; null if what is in use leaves no such piece. */
  std::byte* take(size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (bytes > memory_.size()) return nullptr;
    if (given_back_ == taken_)  // nothing is in use: all of it lies side by side again
      given_back_ = taken_ = (taken_ + memory_.size() - 1) / memory_.size() * memory_.size();
    uint64_t at = taken_;
    if (at % memory_.size() + bytes > memory_.size()) at += memory_.size() - at % memory_.size();  // begin anew
    if (at + bytes - given_back_ > memory_.size()) return nullptr;
    taken_ = at + bytes;
    return &memory_[at % memory_.size()];
  }
  /** What has been taken so far, for give_back(). */
  uint64_t taken() const { return taken_; }
  /** Gives back all that had been taken when taken() was `until`. */
  void give_back(uint64_t until) { given_back_ = until; }

 private:
  std::span<std::byte> memory_;
  uint64_t taken_ = 0, given_back_ = 0;  // bytes since the beginning, with those left out at the end of the memory
};

}  // namespace heddle
