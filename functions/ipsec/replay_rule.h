#pragma once

#include <cstdint>

#include "functions/ipsec/selectors.h"

/** IPsecReplay as a GPU knows it. */
namespace heddle::ipsec {

enum ReplayReason : int { kCameBefore, kOthers, kLimitReached };

/** By how much numbers may be below the highest that has been authenticated when windows are judged later: packets are
 *  still under way then, and those before them come in any order. */
constexpr uint64_t kMaxBehind = uint64_t{1} << 30;

/** The whole extended sequence number of a packet that has `low` of it (RFC 4303, A2.2), `top` being the highest: as
 *  ReplayWindow::extended() of a window of kMaxBehind, with no number below 0. */
HEDDLE_HD inline uint64_t number_near(uint64_t top, uint32_t low) {
  const uint64_t bottom = top < kMaxBehind ? 0 : top - kMaxBehind + 1;
  return bottom + static_cast<uint32_t>(low - static_cast<uint32_t>(bottom));
}

/** The table of its GPU side: this, then `count` windows, then, with has_selectors, `count` selectors. Numbers are
 *  counted from `seen`, up to which all have come, so that a State of zeros is right at first. With has_extended
 *  column esp_iv has them. */
struct alignas(16) ReplayImage {
  /** As ReplayWindow, whose words are in the function's State from `words_at` on: the highest number that has come,
   *  then the blocks. */
  struct alignas(16) Window {
    uint64_t seen;
    uint32_t size;  ///< 0: no check
    uint32_t block_mask, words_at;
    HEDDLE_HD uint32_t words() const { return size == 0 ? 0 : block_mask + 2; }
  };
  uint32_t count, link_bytes, has_selectors, has_extended;

  HEDDLE_HD const Window* windows() const { return reinterpret_cast<const Window*>(this + 1); }
  HEDDLE_HD const Selector* selectors() const { return reinterpret_cast<const Selector*>(windows() + count); }
};

/** A word of a window. */
struct ReplayWord {
  unsigned long long word;
};

/** The highest extended number of an association that a GPU has authenticated: IPsecDecap's. */
struct Highest {
  unsigned long long number;
};

}  // namespace heddle::ipsec
