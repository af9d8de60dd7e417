#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/macros.h"

namespace heddle::flow {

/** How column flow names a flow: the low bits are its place, counted over all threads' tables; the others are the low
 *  bits of the place's generation, which tells apart the flows that have it one after the other. */
struct Places {
  static constexpr uint32_t kMinBits = 7;

  uint32_t count = 0;
  uint32_t bits = kMinBits;  ///< of the column that are the place

  static constexpr Places of(uint32_t count) {
    return {count, std::max(kMinBits, static_cast<uint32_t>(std::bit_width(count - 1)))};
  }
  constexpr uint32_t column_of(uint32_t place, uint32_t generation) const { return generation << bits | place; }
  HEDDLE_HD constexpr uint32_t place_in(uint32_t column) const { return column & ((1u << bits) - 1); }
  HEDDLE_HD constexpr uint32_t generation_in(uint32_t column) const { return column >> bits; }
  /** Whether generation `a` has followed `b` so closely that packets of `b` may still be in flight. `kept`: the bits
   *  of generations that are known. */
  HEDDLE_HD constexpr bool is_after(uint32_t a, uint32_t b, uint32_t kept = ~0u) const {
    const uint32_t mask = ~0u >> bits & kept, ahead = (a - b) & mask;
    return ahead > 0 && ahead <= 2 + (mask >> 9);
  }
};

/** What a GPU has counted of the last flow in a place. Each word: the flow's generation, and 1, above the count; 0:
 *  there was none. */
struct PlaceCounts {
  unsigned long long packets, bytes;
};

constexpr int kCountBits = 38;
/** Nothing is added to counts from here on, so that what others are adding at that time has room as well. */
constexpr uint64_t kMaxCounted = uint64_t{1} << (kCountBits - 1);

HEDDLE_HD constexpr uint64_t counted(uint32_t generation, uint64_t count) {
  return uint64_t{generation + 1} << kCountBits | count;
}
HEDDLE_HD constexpr uint64_t count_in(uint64_t word) { return word & ((uint64_t{1} << kCountBits) - 1); }
HEDDLE_HD constexpr bool is_of(uint64_t word, uint32_t generation) { return word >> kCountBits == generation + 1; }
/** Of a word that is not 0. */
HEDDLE_HD constexpr uint32_t generation_of(uint64_t word) { return static_cast<uint32_t>(word >> kCountBits) - 1; }

}  // namespace heddle::flow
