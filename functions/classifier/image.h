#pragma once

#include <cstddef>
#include <cstdint>

#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** How ranges are found: a blockwise k-ary search in limits as wide as the field, 8, 16 or 32 bits; the same in limits
 *  of 32 bits; or a binary search for the block among those of 32 bits. The latter two are for comparison (Schramm
 *  2022, 3.3.1 and 3.3.2). */
enum class SearchForm : uint8_t { packed, plain, binary };

/** The search structure of the bit-vector algorithm (Lakshman, Stiliadis, SIGCOMM 1998) with aggregated bit vectors
 *  (Baboescu, Varghese, SIGCOMM 2001), the same bytes on CPU and GPU. The limits of all rules cut a dimension into
 *  elementary ranges, in each of which the same rules match: bit i of the range's vector is set if rule i does, and bit
 *  w of its aggregate if word w of its vector is not 0. A key hits the first rule whose bit is set in the vectors of
 *  all dimensions.
 *
 *  Ranges are found by a k-ary search. Level 0 holds their upper limits, ascending, in blocks of kBlockBytes; a level
 *  above holds the last limit of each block of the one below; the top one is one block. In a block, the number of
 *  limits that are smaller than the value says where to go on. Blocks are filled up with the largest limit, which
 *  nothing exceeds. Limits take as many bits as the field, so k is 32, 64 or 128. With SearchForm::binary there is
 *  level 0 alone, and its block is found by a binary search.
 *
 *  The first dimensions are those of the 5-tuple. A further place of the packet is a dimension if rules ask for ranges
 *  of it, and one for each byte of which rules ask for some bits.
 *
 *  Offsets count from the image's start. */
constexpr uint32_t kBlockBytes = 128;
constexpr int kMaxLevels = 5;  // 32^5 ranges
constexpr uint32_t kMaxDimensions = 32;

struct Dimension {
  uint64_t level[kMaxLevels];  ///< limits of limit_bits, at multiples of kBlockBytes
  uint64_t aggregates;         ///< uint64_t[ranges][Image::aggregate_words]
  uint64_t vectors;            ///< uint64_t[ranges][Image::words], at a multiple of 64
  uint32_t ranges;
  int32_t levels;
  uint32_t value;        ///< which value of a key: a Field, or kFields + its place in the layout
  uint32_t shift, mask;  ///< what is searched is value >> shift & mask
  Place place;           ///< where the value is
  uint32_t limit_bits;   ///< 8, 16 or 32
  uint32_t blocks;       ///< of level 0, if they are searched by halves; else 0

  HEDDLE_HD uint32_t limits_in_block() const { return kBlockBytes * 8 / limit_bits; }
};

/** What a GPU counts of a rule, by its id. */
struct GpuHits {
  unsigned long long packets;
};

/** A decision tree over the 5-tuple in the manner of HyperSplit (Qi et al., Packet Classification Algorithms: From
 *  Theory to Practice, INFOCOM 2009), but with up to kWays children: a node cuts its part of the space along one field
 *  at up to kWays - 1 values, and a comparison of all of them with the key's says where to go on (Schramm 2022, 5.2). A
 *  leaf has few rules, which are searched one after the other; further conditions are looked at there only. */
struct alignas(64) TreeNode {
  static constexpr uint32_t kWays = 15, kLeaf = 1u << 31;
  uint32_t limits[kWays - 1];  ///< last values of all parts but the last, ascending, filled up with ~0
  uint32_t first;  ///< the first of its children, which lie side by side; of a leaf: of its rules in Image::leaves
  uint32_t what;   ///< the field; kLeaf + number of its rules for a leaf
};

/** Rules of an image come and go while readers look. A reader goes by what is there at one moment; they count from 0,
 *  when the image was built. */
struct Moment {
  uint32_t number;
  uint32_t listed;  ///< rules in Image::listed

  /** Whether a rule that ends so is there. */
  HEDDLE_HD bool is_before(const uint32_t& end) const {
#ifdef __CUDA_ARCH__
    return number < end;
#else
    return number < __atomic_load_n(&end, __ATOMIC_RELAXED);
#endif
  }
};
constexpr uint32_t kForever = ~0u;

/** A rule of bit vectors. */
struct alignas(16) VectorRule {
  Outcome outcome;
  uint32_t end = kForever;  ///< number of the moment from which on it is gone
};
/** A rule that is looked at with others, one after the other. */
struct alignas(64) PlainRule {
  uint32_t low[kFields]{}, high[kFields]{};
  Outcome outcome;
  uint32_t end = kForever;  ///< as VectorRule::end
  uint32_t first_condition = 0, conditions = 0;
};
/** Asks for low <= (value & mask) <= high. */
struct PlainCondition {
  uint32_t dimension;  ///< whose value it is, as Dimension says
  uint32_t mask, low, high;
};

/** Bit vectors; or a tree or hash tables: then the dimensions say only where the values of a key are. Bit vectors and a
 *  tree are made once. Rules that come later are listed beside them, and those that go are marked, so that a change is
 *  a few words, of which the last is `moment`. Rules enter and leave hash tables (tuple_image.h); the number of the
 *  moment is then the version that a reader goes by. */
struct Image {
  uint32_t rules;
  uint32_t words;            ///< of a bit vector: a multiple of 8
  uint32_t aggregate_words;  ///< of an aggregate
  uint32_t dimension_count;  ///< at least kFields
  Versions versions;         ///< that rules tell apart
  uint16_t no_match;         ///< what becomes of packets that hit no rule, as Rule::next
  uint32_t most_listed;      ///< rules for which there is room in `listed`
  uint64_t moment;           ///< the present one: its number, and in the upper half the rules that are listed
  uint64_t listed;           ///< PlainRule[most_listed], those that have come since the image was built, in any order
  uint64_t vector_rules;     ///< VectorRule[rules] of bit vectors
  uint64_t ways;             ///< ImageWay[...], lists of hash tables; 0: bit vectors or a tree
  uint64_t tables;           ///< the present list: where it begins in `ways`, and in the upper half how long it is
  uint64_t entries;          ///< TupleEntry[...], by id
  uint64_t checks;           ///< TupleCheck[...][dimension_count - kFields], by id
  uint64_t nodes;            ///< TreeNode[...], the root first; 0: bit vectors or hash tables
  uint64_t leaves;      ///< uint32_t[...], places in tree_rules, for each leaf those of its own, ascending by number
  uint64_t tree_rules;  ///< PlainRule[rules], ascending by number
  uint64_t conditions;  ///< PlainCondition[...]
  Dimension dimensions[kMaxDimensions];

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
  /** What becomes of a packet that hits the rule of the vectors at `place`, counted in the order of numbers; kNoRule:
   *  of one that hits none. */
  HEDDLE_HD Outcome outcome(uint32_t place) const {
    return place == kNoRule ? Outcome{kNoRule, kNoId, no_match} : at<VectorRule>(vector_rules)[place].outcome;
  }
  /** Whether the rule of the vectors at `place` is there. */
  HEDDLE_HD bool lives(uint32_t place, const Moment& when) const {
    return when.number == 0 || when.is_before(at<VectorRule>(vector_rules)[place].end);
  }
  static HEDDLE_HD Moment moment_of(uint64_t word) {
    return {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
  }
  static constexpr uint64_t tables_word(uint32_t first, uint32_t count) { return uint64_t{count} << 32 | first; }
  /** The present moment, for a reader on the host. */
  Moment now() const { return moment_of(__atomic_load_n(&moment, __ATOMIC_ACQUIRE)); }
};

/** How many rules an image has room for beside those that it was built of: as many, but no fewer and no more than
 *  these; and how many conditions of each. */
constexpr uint32_t kFewestListed = 256, kMaxListed = 4096, kListedConditions = 4;
constexpr uint32_t most_listed(size_t rules) {
  return static_cast<uint32_t>(rules < kFewestListed ? kFewestListed : rules > kMaxListed ? kMaxListed : rules);
}

}  // namespace heddle::classifier
