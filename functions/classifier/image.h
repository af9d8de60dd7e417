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
 *  The first dimensions are those of the 5-tuple. A further place of the packet is a dimension if rules ask for ranges of it, and
 *  one for each byte of which rules ask for some bits.
 *
 *  Offsets count from the image's start. */
constexpr uint32_t kBlock = 32;
constexpr int kMaxLevels = 5;  // 32^5 ranges
constexpr uint32_t kMostDimensions = 32;

struct Dimension {
  uint64_t level[kMaxLevels];  ///< uint32_t[...], at multiples of 128
  uint64_t aggregates;         ///< uint64_t[ranges][Image::aggregate_words]
  uint64_t vectors;            ///< uint64_t[ranges][Image::words], at a multiple of 64
  uint32_t ranges;
  int32_t levels;
  uint32_t value;        ///< which value of a key: a Field, or kFields + its place in the layout
  uint32_t shift, mask;  ///< what is searched is value >> shift & mask
};

struct Image {
  uint32_t rules;
  uint32_t words;            ///< of a bit vector: a multiple of 8
  uint32_t aggregate_words;  ///< of an aggregate
  uint32_t dimension_count;  ///< at least kFields
  uint16_t no_match;         ///< what becomes of packets that hit no rule, as Rule::next
  uint64_t outcomes;         ///< Outcome[rules]
  Dimension dimensions[kMostDimensions];

  template <class T>
  HEDDLE_HD const T* at(uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + offset);
  }
  HEDDLE_HD const uint64_t* aggregate(uint32_t dimension, uint32_t range) const {
    return at<uint64_t>(dimensions[dimension].aggregates) + uint64_t{range} * aggregate_words;
  }
  HEDDLE_HD const uint64_t* vector(uint32_t dimension, uint32_t range) const {
    return at<uint64_t>(dimensions[dimension].vectors) + uint64_t{range} * words;
  }
  /** What becomes of a packet that hits the rule at `place`, counted in the order of numbers; kNoRule: of one that hits none. */
  HEDDLE_HD Outcome outcome(uint32_t place) const {
    return place == kNoRule ? Outcome{kNoRule, kNoId, no_match} : at<Outcome>(outcomes)[place];
  }
};

}  // namespace heddle::classifier
