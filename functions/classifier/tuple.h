#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "functions/classifier/rule.h"
#include "functions/classifier/tuple_image.h"

namespace heddle::classifier {

/** How many leading bits of each field a hash table looks at (tuple-space search: Srinivasan, Suri, Varghese, SIGCOMM
 *  1999). */
using Tuple = std::array<uint8_t, kFields>;
constexpr Tuple kWidths = {32, 32, 16, 16, 8};

constexpr Words words_of(const Key& key) { return words_of(key[0], key[1], key[2], key[3], key[4]); }

constexpr Words mask_of(const Tuple& tuple) {
  Key mask{};
  for (size_t f = 0; f < kFields; ++f)
    mask[f] = kLargest[f] & ~static_cast<uint32_t>(uint64_t{kLargest[f]} >> tuple[f]);
  return words_of(mask);
}

/** The bits that all keys of a rule agree in. */
inline Tuple tuple_of(const Rule& rule) {
  Tuple tuple{};
  for (size_t f = 0; f < kFields; ++f)
    tuple[f] = static_cast<uint8_t>(kWidths[f] - static_cast<unsigned>(std::bit_width(rule.low[f] ^ rule.high[f])));
  return tuple;
}

/** Whether rules with `own` can be in a table with `tuple`: it looks at no bit in which they differ. */
constexpr bool fits(const Tuple& tuple, const Tuple& own) {
  return std::ranges::equal(tuple, own, [](uint8_t a, uint8_t b) { return a <= b; });
}

/** Rules of one key that a table takes while another could have them as well; TupleMerge's collision limit. */
constexpr int kCollisions = 4;

/** A table to be, and the rules that go there, as indices. */
struct TuplePlan {
  Tuple tuple;
  std::vector<uint32_t> rules;
};

/** Merges tuples as TupleMerge does (Daly et al., IEEE/ACM Transactions on Networking 2019): a table looks at fewer
 *  bits than its rules have in common, and takes in rules of many tuples, as long as few have the same key. Here all
 *  rules are known, and the tuple that takes the most of those left is searched each time. */
std::vector<TuplePlan> merge_tuples(std::span<const SetRule> rules);

}  // namespace heddle::classifier
