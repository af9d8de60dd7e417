#pragma once

#include <cstddef>
#include <cstdint>

#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** The search structure of the bit-vector algorithm (Lakshman, Stiliadis, SIGCOMM 1998) with aggregated bit vectors
 *  (Baboescu, Varghese, SIGCOMM 2001), the same bytes on CPU and GPU. The limits of all rules cut a dimension into
 *  elementary ranges, in each of which the same rules match: bit i of the range's vector is set if rule i does, and bit w
 *  of its aggregate if word w of its vector is not 0. A key hits the first rule whose bit is set in the vectors of all
 *  dimensions.
 *
 *  Ranges are found by a 32-ary search. Level 0 holds their upper limits, ascending; a level above holds the last limit of
 *  each block of kBlock limits of the one below; the top one is one block. In a block, the number of limits that are smaller
 *  than the value says where to go on. Blocks are filled up with the largest limit, which nothing exceeds.
 *
 *  Offsets count from the image's start. */
constexpr uint32_t kBlock = 32;
constexpr int kMaxLevels = 5;  // 32^5 ranges

struct Dimension {
  uint64_t level[kMaxLevels];  ///< uint32_t[...], at multiples of 128
  uint64_t aggregates;         ///< uint64_t[ranges][Image::aggregate_words]
  uint64_t vectors;            ///< uint64_t[ranges][Image::words], at a multiple of 64
  uint32_t ranges;
  int32_t levels;
};

struct Image {
  uint32_t rules;
  uint32_t words;            ///< of a bit vector: a multiple of 8
  uint32_t aggregate_words;  ///< of an aggregate
  uint16_t no_match;         ///< what becomes of packets that hit no rule, as Rule::next
  uint64_t outcomes;         ///< Outcome[rules]
  Dimension dimensions[kFields];

  template <class T>
  HEDDLE_HD const T* at(uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + offset);
  }
  HEDDLE_HD const uint64_t* aggregate(int field, uint32_t range) const {
    return at<uint64_t>(dimensions[field].aggregates) + uint64_t{range} * aggregate_words;
  }
  HEDDLE_HD const uint64_t* vector(int field, uint32_t range) const {
    return at<uint64_t>(dimensions[field].vectors) + uint64_t{range} * words;
  }
  /** What becomes of a packet that hits the rule at `place`, counted in the order of numbers; kNoRule: of one that hits none. */
  HEDDLE_HD Outcome outcome(uint32_t place) const {
    return place == kNoRule ? Outcome{kNoRule, kNoId, no_match} : at<Outcome>(outcomes)[place];
  }
};

}  // namespace heddle::classifier
