#include "functions/ipsec/replay_window.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace heddle::ipsec {
namespace {

/** By how many blocks the block of `sequence` is behind that in `word`; below 0: ahead of it. */
int32_t blocks_behind(uint64_t word, uint32_t place) { return static_cast<int32_t>((word >> 32) - place); }

}  // namespace

void ReplayWindow::start(uint32_t window, uint64_t seen) {
  window_ = window;
  top_ = seen;
  if (window == 0) return;
  // A window of n numbers lies in up to (n + 30) / 32 + 1 blocks, and one more is being begun.
  const uint32_t count = std::bit_ceil((window + kBlockBits - 2) / kBlockBits + 2);
  block_mask_ = count - 1;
  blocks_ = std::make_unique<std::atomic<uint64_t>[]>(count);
  const uint64_t here = seen / kBlockBits;
  for (uint64_t k = 0; k < count; ++k) {
    if (k > here) break;
    const uint64_t place = here - k, come = k == 0 ? (uint64_t{2} << seen % kBlockBits) - 1 : ~uint32_t{0};
    blocks_[place & block_mask_] = place << 32 | come;
  }
}

void ReplayWindow::copy_to(uint64_t* words) const {
  *words++ = top_;
  for (uint32_t k = 0; k <= block_mask_; ++k) words[k] = blocks_[k];
}

void ReplayWindow::set(const uint64_t* words) {
  top_ = *words++;
  for (uint32_t k = 0; k <= block_mask_; ++k) blocks_[k] = words[k];
}

void ReplayWindow::take_over(ReplayWindow& old) {
  if (!old.is_on()) return;
  if (window_ != old.window_ || top_ > old.top_) return start(window_, std::max(top_.load(), old.top_.load()));
  std::swap(blocks_, old.blocks_);
  top_ = old.top_.exchange(top_);
}

bool ReplayWindow::could_come(uint64_t sequence) const {
  if (window_ == 0) return true;
  if (static_cast<int64_t>(sequence) <= 0 || sequence + window_ <= top_.load(std::memory_order_relaxed)) return false;
  const uint64_t block = block_of(sequence).load(std::memory_order_relaxed);
  const int32_t behind = blocks_behind(block, static_cast<uint32_t>(sequence / kBlockBits));
  return behind < 0 || (behind == 0 && (block >> sequence % kBlockBits & 1) == 0);
}

bool ReplayWindow::mark(uint64_t sequence) {
  if (window_ == 0) return true;
  auto& block = block_of(sequence);
  const uint64_t bit = uint64_t{1} << sequence % kBlockBits;
  const auto place = static_cast<uint32_t>(sequence / kBlockBits);
  uint64_t now = block.load(std::memory_order_relaxed), next;
  do {
    const int32_t behind = blocks_behind(now, place);
    if (!could_come(sequence) || behind > 0 || (behind == 0 && (now & bit) != 0)) return false;
    next = (behind == 0 ? now : uint64_t{place} << 32) | bit;
  } while (!block.compare_exchange_weak(now, next, std::memory_order_relaxed));
  uint64_t top = top_.load(std::memory_order_relaxed);
  while (top < sequence && !top_.compare_exchange_weak(top, sequence, std::memory_order_relaxed)) {
  }
  return true;
}

}  // namespace heddle::ipsec
