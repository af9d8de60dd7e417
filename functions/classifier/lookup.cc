// Lookups on the CPU: a group of keys goes through one dimension after the other, then through aggregates and vectors, so
// that the accesses of many keys are on their way at once.

#include <algorithm>
#include <bit>

#include "functions/classifier/table.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace heddle::classifier {
namespace {

constexpr int kGroup = 64;
using Ranges = uint32_t[kMostDimensions][kGroup];

/** A search of `n` values in a dimension: ranges[i] is the one that values[i] lies in. */
using Search = void (*)(const Image&, const Dimension&, const uint32_t* values, uint32_t* ranges, int n);

void search_portable(const Image& image, const Dimension& dimension, const uint32_t* values, uint32_t* ranges, int n) {
  for (int i = 0; i < n; ++i) {
    uint32_t block = 0;
    for (int level = dimension.levels - 1; level >= 0; --level) {
      const uint32_t* limits = image.at<uint32_t>(dimension.level[level]) + block * kBlock;
      uint32_t smaller = 0;
      for (uint32_t k = 0; k < kBlock; ++k) smaller += limits[k] < values[i] ? 1 : 0;
      block = block * kBlock + smaller;
    }
    ranges[i] = block;
  }
}

#ifdef __x86_64__
[[gnu::target("avx2,popcnt")]] void search_avx2(const Image& image, const Dimension& dimension, const uint32_t* values,
                                                uint32_t* ranges, int n) {
  const __m256i sign = _mm256_set1_epi32(INT32_MIN);  // AVX2 compares signed numbers only
  for (int i = 0; i < n; ++i) {
    const __m256i value = _mm256_xor_si256(_mm256_set1_epi32(static_cast<int>(values[i])), sign);
    uint32_t block = 0;
    for (int level = dimension.levels - 1; level >= 0; --level) {
      const auto* limits =
          reinterpret_cast<const __m256i*>(image.at<uint32_t>(dimension.level[level]) + block * kBlock);
      __m256i smaller[4];
      for (int k = 0; k < 4; ++k) smaller[k] = _mm256_cmpgt_epi32(value, _mm256_xor_si256(limits[k], sign));
      const __m256i packed =
          _mm256_packs_epi16(_mm256_packs_epi32(smaller[0], smaller[1]), _mm256_packs_epi32(smaller[2], smaller[3]));
      block = block * kBlock +
              static_cast<uint32_t>(__builtin_popcount(static_cast<unsigned>(_mm256_movemask_epi8(packed))));
    }
    ranges[i] = block;
  }
}

[[gnu::target("avx512f,popcnt")]] void search_avx512(const Image& image, const Dimension& dimension,
                                                     const uint32_t* values, uint32_t* ranges, int n) {
  for (int i = 0; i < n; ++i) {
    const __m512i value = _mm512_set1_epi32(static_cast<int>(values[i]));
    uint32_t block = 0;
    for (int level = dimension.levels - 1; level >= 0; --level) {
      const uint32_t* limits = image.at<uint32_t>(dimension.level[level]) + block * kBlock;
      const uint32_t low = _mm512_cmplt_epu32_mask(_mm512_load_si512(limits), value);
      const uint32_t high = _mm512_cmplt_epu32_mask(_mm512_load_si512(limits + 16), value);
      block = block * kBlock + static_cast<uint32_t>(__builtin_popcount(low | high << 16));
    }
    ranges[i] = block;
  }
}
#endif

Search best_search() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return search_avx512;
  if (__builtin_cpu_supports("avx2")) return search_avx2;
#endif
  return search_portable;
}
const Search search_dimension = best_search();

/** The words of key i's vectors that no aggregate rules out, of 64 words from word 64 * a. */
uint64_t candidates(const Image& image, const Ranges& ranges, int i, uint32_t a) {
  uint64_t words = ~uint64_t{0};
  for (uint32_t d = 0; d < kFields; ++d) words &= image.aggregate(d, ranges[d][i])[a];
  for (uint32_t d = kFields; d < image.dimension_count; ++d) words &= image.aggregate(d, ranges[d][i])[a];
  return words;
}

uint32_t first_match(const Image& image, const Ranges& ranges, int i) {
  for (uint32_t a = 0; a < image.aggregate_words; ++a)
    for (uint64_t words = candidates(image, ranges, i, a); words != 0; words &= words - 1) {
      const uint32_t word = a * 64 + static_cast<uint32_t>(std::countr_zero(words));
      uint64_t match = ~uint64_t{0};
      for (uint32_t d = 0; d < kFields; ++d) match &= image.vector(d, ranges[d][i])[word];
      for (uint32_t d = kFields; d < image.dimension_count; ++d) match &= image.vector(d, ranges[d][i])[word];
      if (match != 0) return word * 64 + static_cast<uint32_t>(std::countr_zero(match));
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

void lookup_bulk(const Image& image, const uint32_t* const* keys, int first, uint32_t* rules, int n) {
  constexpr uint32_t kCached = 32;  // words of a vector, up to which all vectors mostly lie in a cache
  Ranges ranges;
  for (int base = 0; base < n; base += kGroup) {
    const int count = std::min(kGroup, n - base);
    for (uint32_t d = 0; d < image.dimension_count; ++d) {
      const Dimension& dimension = image.dimensions[d];
      const uint32_t* values = keys[dimension.value] + first + base;
      uint32_t parts[kGroup];
      if (d >= kFields) {
        for (int i = 0; i < count; ++i) parts[i] = values[i] >> dimension.shift & dimension.mask;
        values = parts;
      }
      search_dimension(image, dimension, values, ranges[d], count);
      for (int i = 0; i < count; ++i) __builtin_prefetch(image.aggregate(d, ranges[d][i]));
    }
    if (image.words > kCached)
      for (int i = 0; i < count; ++i) prefetch_candidate(image, ranges, i);
    for (int i = 0; i < count; ++i) rules[base + i] = first_match(image, ranges, i);
  }
}

uint32_t lookup(const Image& image, const Key& key) {
  const uint32_t* const keys[kFields] = {&key[0], &key[1], &key[2], &key[3], &key[4]};
  uint32_t rule = kNoRule;
  lookup_bulk(image, keys, 0, &rule, 1);
  return rule;
}

}  // namespace heddle::classifier
