#pragma once

#include <cstdint>

#include "functions/ipsec/selectors.h"

/** IPsecReplay as a GPU knows it. */
namespace heddle::ipsec {

enum ReplayReason : int { kCameBefore, kOthers, kLimitReached };

/** The table of its GPU side: this, then `count` windows, then, with has_selectors, `count` selectors. Numbers are
 *  counted from `seen`, up to which all have come, so that a State of zeros is right at first. */
struct alignas(16) ReplayImage {
  /** As ReplayWindow, whose words are in the function's State from `words_at` on: the highest number that has come,
   *  then the blocks. */
  struct Window {
    uint32_t size;  ///< 0: no check
    uint32_t block_mask, seen, words_at;
    HEDDLE_HD uint32_t words() const { return size == 0 ? 0 : block_mask + 2; }
  };
  uint32_t count, link_bytes, has_selectors;

  HEDDLE_HD const Window* windows() const { return reinterpret_cast<const Window*>(this + 1); }
  HEDDLE_HD const Selector* selectors() const { return reinterpret_cast<const Selector*>(windows() + count); }
};

/** A word of a window. */
struct ReplayWord {
  unsigned long long word;
};

}  // namespace heddle::ipsec
