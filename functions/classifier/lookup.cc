// Lookups on the CPU: a group of keys goes through one dimension after the other, then through aggregates and vectors,
// so that the accesses of many keys are on their way at once.

#include <algorithm>
#include <bit>

#include "functions/classifier/table.h"

namespace heddle::classifier {
namespace {

constexpr int kKeysAtOnce = 64;
using Ranges = uint32_t[kMaxDimensions][kKeysAtOnce];

/** A search of `n` values in a dimension: ranges[i] is the one that values[i] lies in. */
using Search = void (*)(const Image&, const Dimension&, const uint32_t* values, uint32_t* ranges, int n);

/** Where the search begins: at the top, or with SearchForm::binary in the block that the value is in. */
uint32_t first_block(const Image& image, const Dimension& dimension, uint32_t value) {
  uint32_t first = 0;
  const auto* limits = image.at<uint32_t>(dimension.level[0]);
  constexpr uint32_t kBlock = kBlockBytes / sizeof *limits;
  for (uint32_t last = std::max(dimension.blocks, 1u) - 1; first < last;)
    if (const uint32_t middle = (first + last) / 2; limits[middle * kBlock + kBlock - 1] < value)
      first = middle + 1;
    else
      last = middle;
  return first;
}

template <class Limit>
void search_portable(const Image& image, const Dimension& dimension, const uint32_t* values, uint32_t* ranges, int n) {
  constexpr uint32_t kBlock = kBlockBytes / sizeof(Limit);
  for (int i = 0; i < n; ++i) {
    uint32_t block = first_block(image, dimension, values[i]);
    for (int level = dimension.levels - 1; level >= 0; --level) {
      const Limit* limits = image.at<Limit>(dimension.level[level]) + block * kBlock;
      uint32_t smaller = 0;
      for (uint32_t k = 0; k < kBlock; ++k) smaller += limits[k] < values[i] ? 1 : 0;
      block = block * kBlock + smaller;
    }
    ranges[i] = block;
  }
}

#ifdef HEDDLE_AVX2
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i all(uint32_t value, uint8_t) {
  return _mm256_set1_epi8(static_cast<char>(value));
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i all(uint32_t value, uint16_t) {
  return _mm256_set1_epi16(static_cast<int16_t>(value));
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i all(uint32_t value, uint32_t) {
  return _mm256_set1_epi32(static_cast<int>(value));
}
// Bytes that are all ones where the limit is no smaller than the value.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i reached(__m256i limits, __m256i value, uint8_t) {
  return _mm256_cmpeq_epi8(_mm256_max_epu8(limits, value), limits);
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i reached(__m256i limits, __m256i value, uint16_t) {
  return _mm256_cmpeq_epi16(_mm256_max_epu16(limits, value), limits);
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i reached(__m256i limits, __m256i value, uint32_t) {
  return _mm256_cmpeq_epi32(_mm256_max_epu32(limits, value), limits);
}

template <class Limit>
[[gnu::target("avx2,popcnt")]] void search_avx2(const Image& image, const Dimension& dimension, const uint32_t* values,
                                                uint32_t* ranges, int n) {
  constexpr uint32_t kBlock = kBlockBytes / sizeof(Limit);
  for (int i = 0; i < n; ++i) {
    const __m256i value = all(values[i], Limit{});
    uint32_t block = first_block(image, dimension, values[i]);
    for (int level = dimension.levels - 1; level >= 0; --level) {
      const auto* limits = reinterpret_cast<const __m256i*>(image.at<Limit>(dimension.level[level]) + block * kBlock);
      uint32_t larger = 0;  // bytes
      for (int k = 0; k < 4; k += 2) {
        const auto low = static_cast<uint32_t>(_mm256_movemask_epi8(reached(limits[k], value, Limit{})));
        const auto high = static_cast<uint32_t>(_mm256_movemask_epi8(reached(limits[k + 1], value, Limit{})));
        larger += static_cast<uint32_t>(__builtin_popcountll(low | uint64_t{high} << 32));
      }
      block = block * kBlock + kBlock - larger / sizeof(Limit);
    }
    ranges[i] = block;
  }
}

[[gnu::target("avx512f,avx512bw,popcnt"), gnu::always_inline]] inline uint32_t smaller_in(const uint8_t* limits,
                                                                                          uint32_t value) {
  const __m512i all = _mm512_set1_epi8(static_cast<char>(value));
  return static_cast<uint32_t>(__builtin_popcountll(_mm512_cmplt_epu8_mask(_mm512_load_si512(limits), all)) +
                               __builtin_popcountll(_mm512_cmplt_epu8_mask(_mm512_load_si512(limits + 64), all)));
}
[[gnu::target("avx512f,avx512bw,popcnt"), gnu::always_inline]] inline uint32_t smaller_in(const uint16_t* limits,
                                                                                          uint32_t value) {
  const __m512i all = _mm512_set1_epi16(static_cast<int16_t>(value));
  const uint64_t low = _mm512_cmplt_epu16_mask(_mm512_load_si512(limits), all);
  return static_cast<uint32_t>(
      __builtin_popcountll(low | uint64_t{_mm512_cmplt_epu16_mask(_mm512_load_si512(limits + 32), all)} << 32));
}
[[gnu::target("avx512f,avx512bw,popcnt"), gnu::always_inline]] inline uint32_t smaller_in(const uint32_t* limits,
                                                                                          uint32_t value) {
  const __m512i all = _mm512_set1_epi32(static_cast<int>(value));
  const uint32_t low = _mm512_cmplt_epu32_mask(_mm512_load_si512(limits), all);
  const uint32_t high = _mm512_cmplt_epu32_mask(_mm512_load_si512(limits + 16), all);
  return static_cast<uint32_t>(__builtin_popcount(low | high << 16));
}

template <class Limit>
[[gnu::target("avx512f,avx512bw,popcnt")]] void search_avx512(const Image& image, const Dimension& dimension,
                                                              const uint32_t* values, uint32_t* ranges, int n) {
  constexpr uint32_t kBlock = kBlockBytes / sizeof(Limit);
  for (int i = 0; i < n; ++i) {
    uint32_t block = first_block(image, dimension, values[i]);
    for (int level = dimension.levels - 1; level >= 0; --level)
      block = block * kBlock + smaller_in(image.at<Limit>(dimension.level[level]) + block * kBlock, values[i]);
    ranges[i] = block;
  }
}
#endif

constexpr Search kSearches[][3] = {
    // by Simd, and by limits of 8, 16 and 32 bits
    {search_portable<uint8_t>, search_portable<uint16_t>, search_portable<uint32_t>},
#ifdef HEDDLE_AVX2
    {search_avx2<uint8_t>, search_avx2<uint16_t>, search_avx2<uint32_t>},
    {search_avx512<uint8_t>, search_avx512<uint16_t>, search_avx512<uint32_t>},
#endif
};

/** The words of key i's vectors that no aggregate rules out, of 64 words from word 64 * a. */
uint64_t candidates(const Image& image, const Ranges& ranges, int i, uint32_t a) {
  uint64_t words = ~uint64_t{0};
  for (uint32_t d = 0; d < kFields; ++d) words &= image.aggregate(d, ranges[d][i])[a];
  for (uint32_t d = kFields; d < image.dimension_count; ++d) words &= image.aggregate(d, ranges[d][i])[a];
  return words;
}

/** `kMarked`: some rules may be gone. */
template <bool kMarked>
uint32_t first_match(const Image& image, const Moment& when, const Ranges& ranges, int i) {
  for (uint32_t a = 0; a < image.aggregate_words; ++a)
    for (uint64_t words = candidates(image, ranges, i, a); words != 0; words &= words - 1) {
      const uint32_t word = a * 64 + static_cast<uint32_t>(std::countr_zero(words));
      uint64_t match = ~uint64_t{0};
      for (uint32_t d = 0; d < kFields; ++d) match &= image.vector(d, ranges[d][i])[word];
      for (uint32_t d = kFields; d < image.dimension_count; ++d) match &= image.vector(d, ranges[d][i])[word];
      for (; match != 0; match &= match - 1) {
        const uint32_t place = word * 64 + static_cast<uint32_t>(std::countr_zero(match));
        if (!kMarked || image.lives(place, when)) return place;
      }
    }
  return kNoRule;
}

/** Asks for the first words of key i's vectors that first_match() is going to look at. */
void prefetch_candidate(const Image& image, const Ranges& ranges, int i) {
  for (uint32_t a = 0; a < image.aggregate_words; ++a)
    if (const uint64_t words = candidates(image, ranges, i, a); words != 0) {
      const int word = static_cast<int>(a) * 64 + std::countr_zero(words);
      for (uint32_t d = 0; d < image.dimension_count; ++d) __builtin_prefetch(image.vector(d, ranges[d][i]) + word);
      return;
    }
}

}  // namespace

void lookup_bulk(const Image& image, const Moment& when, const uint32_t* const* keys, int first, uint32_t* rules, int n,
                 Simd simd) {
  const auto& searches = kSearches[static_cast<size_t>(simd)];
  constexpr uint32_t kCached = 32;  // words of a vector, up to which all vectors mostly lie in a cache
  Ranges ranges;
  for (int base = 0; base < n; base += kKeysAtOnce) {
    const int count = std::min(kKeysAtOnce, n - base);
    for (uint32_t d = 0; d < image.dimension_count; ++d) {
      const Dimension& dimension = image.dimensions[d];
      const uint32_t* values = keys[dimension.value] + first + base;
      uint32_t parts[kKeysAtOnce];
      if (d >= kFields) {
        for (int i = 0; i < count; ++i) parts[i] = values[i] >> dimension.shift & dimension.mask;
        values = parts;
      }
      searches[dimension.limit_bits / 16](image, dimension, values, ranges[d], count);
      for (int i = 0; i < count; ++i) __builtin_prefetch(image.aggregate(d, ranges[d][i]));
    }
    if (image.words > kCached)
      for (int i = 0; i < count; ++i) prefetch_candidate(image, ranges, i);
    if (when.number == 0)
      for (int i = 0; i < count; ++i) rules[base + i] = first_match<false>(image, when, ranges, i);
    else
      for (int i = 0; i < count; ++i) rules[base + i] = first_match<true>(image, when, ranges, i);
  }
}

void classify_by_vectors(const Image& image, const Moment& when, const uint32_t* const* keys, Outcome* outcomes, int n,
                         Simd simd) {
  uint32_t places[kKeysAtOnce];
  for (int base = 0; base < n; base += kKeysAtOnce) {
    const int count = std::min(kKeysAtOnce, n - base);
    lookup_bulk(image, when, keys, base, places, count, simd);
    for (int i = 0; i < count; ++i) outcomes[base + i] = image.outcome(places[i]);
  }
}

uint32_t lookup(const Image& image, const Key& key) {
  const uint32_t* const keys[kFields] = {&key[0], &key[1], &key[2], &key[3], &key[4]};
  uint32_t rule = kNoRule;
  lookup_bulk(image, image.now(), keys, 0, &rule, 1);
  return rule;
}

}  // namespace heddle::classifier
