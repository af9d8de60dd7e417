#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace heddle::ipsec {

/** Which sequence numbers of an association have come: RFC 6479's ring of blocks, in which any number of threads mark
 * their packets without a lock. A block of 32 numbers is one word, which also has the low half of the block's place, so
 * that a number is marked at most once whatever else happens. */
class ReplayWindow {
 public:
  /** `window`: how many numbers below the highest one are judged one by one; 0: no check. `seen`: all
   * numbers up to it count as having come. */
  void start(uint32_t window, uint64_t seen);
  bool is_on() const { return window_ != 0; }
  uint32_t window() const { return window_; }
  uint32_t block_mask() const { return block_mask_; }  ///< number of blocks - 1, a power of two; 0 without a window
  uint64_t top() const { return top_.load(std::memory_order_relaxed); }  ///< the highest number that has come
  /** The whole extended sequence number of a packet that has `low` of it: the one within 2^32 from the window's bottom
   * (RFC 4303, A2.2). Below 0, as a signed number, there is none. */
  uint64_t extended(uint32_t low) const {
    const uint64_t bottom = top_.load(std::memory_order_relaxed) - window_ + 1;
    return bottom + static_cast<uint32_t>(low - static_cast<uint32_t>(bottom));
  }
  /** Whether `sequence` could still come; before its packet has been authenticated. */
  bool could_come(uint64_t sequence) const;
  /** Marks it, once; false if it has come before or is too old. */
  bool mark(uint64_t sequence);
  /** Where it is, as a GPU keeps it: the highest number that has come, then the blocks. One thread. */
  size_t words() const { return is_on() ? block_mask_ + 2 : 0; }
  void copy_to(uint64_t* words) const;
  void set(const uint64_t* words);
  /** Goes on where `old` is, which goes on here if the call is made the other way round. Of a window of another size,
   *  all numbers up to its highest count as having come. No other thread uses either. */
  void take_over(ReplayWindow& old);

 private:
  static constexpr uint32_t kBlockBits = 32;
  std::atomic<uint64_t>& block_of(uint64_t sequence) const { return blocks_[sequence / kBlockBits & block_mask_]; }

  uint32_t window_ = 0, block_mask_ = 0;
  std::atomic<uint64_t> top_{0};                     // the highest that has come
  std::unique_ptr<std::atomic<uint64_t>[]> blocks_;  // low half of the block's place (high half), and which have come
};

}  // namespace heddle::ipsec
