#pragma once

#include <cstdint>

#include "functions/classifier/rule.h"

namespace heddle::classifier {

// What a TupleEngine's hash tables are made of, on CPU and GPU.

/** A key or a mask as two words: addresses; ports and protocol. */
struct Words {
  uint64_t addresses = 0, rest = 0;
  bool operator==(const Words&) const = default;
  HEDDLE_HD constexpr Words operator&(const Words& mask) const {
    return {addresses & mask.addresses, rest & mask.rest};
  }
};
HEDDLE_HD constexpr Words words_of(uint32_t source, uint32_t destination, uint32_t source_port,
                                   uint32_t destination_port, uint32_t protocol) {
  return {uint64_t{source} << 32 | destination,
          uint64_t{source_port} << 24 | uint64_t{destination_port} << 8 | protocol};
}

constexpr uint64_t kFactors[3] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0xd6e8feb86659fd93};
/** Of masked words. The upper bits are a place in a table, bits 8 to 12 one in a filter. */
HEDDLE_HD constexpr uint64_t hash_of(const Words& words) {
  constexpr uint64_t kAddresses = kFactors[0], kRest = kFactors[1], kMixed = kFactors[2];
  const uint64_t mixed = words.addresses * kAddresses + words.rest * kRest;
  return (mixed ^ mixed >> 32) * kMixed;
}
HEDDLE_HD constexpr uint32_t filter_bit(uint64_t hash) { return static_cast<uint32_t>(hash >> 8) & 31; }
/** Whether the rules of a chain are worth a look: its head has the filter bit. */
HEDDLE_HD constexpr bool may_have(uint64_t head, uint64_t hash) { return (head >> 32 >> filter_bit(hash) & 1) != 0; }

/** A rule where it lies, by id: one cache line, and one comparison of eight lanes: it matches if key[k] - low[k] <=
 *  span[k] (modulo 2^32) for the lanes up to kVersion. Lane kVersion holds the versions of the set that have the
 *  rule. */
struct alignas(64) TupleEntry {
  uint32_t low[8], span[8];
};
constexpr int kVersion = kFields, kNumber = 6, kNext = 7;  // of `low`
constexpr int kLinks[2] = {6, 7};  // of `span`: id + 1 of the next rule in the chain; 0: it is the last

/** What a rule asks of a place of the layout: (value & mask) - low <= span, modulo 2^32. */
struct TupleCheck {
  uint32_t mask, low, span;
};

/** A hash table in an Image. */
struct alignas(16) ImageWay {
  Words mask;
  uint64_t heads;  ///< uint64_t[...], as TupleWay::heads
  uint32_t best;   ///< as TupleWay's
  uint16_t shift, link;
};

}  // namespace heddle::classifier
