// Lookups on the CPU: a group of keys goes through the tree level by level, so that the accesses of many keys are on their
// way at once.

#include <algorithm>
#include <array>

#include "core/load.h"
#include "functions/ip6_lookup/table.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace heddle::ip6_lookup {
namespace {

constexpr int kTogether = 16, kGroup = 4 * kTogether;

/** Searches the main tree for n keys: leaves[i] and values[i] are those of keys[i]. All arrays have n rounded up to a
 *  multiple of kTogether entries. */
using Search = void (*)(const Image&, const int64_t* keys, uint32_t* leaves, uint16_t* values, int n);

/** The keys of addresses as they lie in packets. */
void keys_portable(const uint8_t (*addresses)[16], int64_t* keys, int n) {
  for (int i = 0; i < n; ++i) keys[i] = ordered(__builtin_bswap64(load_u64(addresses[i])));
}

void search_portable(const Image& image, const int64_t* keys, uint32_t* leaves, uint16_t* values, int n) {
  std::fill_n(leaves, n, 0u);
  uint32_t level = 0;
  for (; level + 1 < image.levels; ++level) {
    const Inner* nodes = &image.line<Inner>(image.level[level]);
    const Inner* children = &image.line<Inner>(image.level[level + 1]);
    for (int i = 0; i < n; ++i) {
      leaves[i] = leaves[i] * kInnerChildren + smaller(nodes[leaves[i]].limit, keys[i]);
      __builtin_prefetch(&children[leaves[i]]);
    }
  }
  const Leaf* nodes = &image.line<Leaf>(image.level[level]);
  for (int i = 0; i < n; ++i) values[i] = nodes[leaves[i]].value[smaller(nodes[leaves[i]].limit, keys[i])];
}

#ifdef __x86_64__
[[gnu::target("avx2,popcnt")]] inline uint32_t smaller_avx2(const int64_t* limits, int64_t key, unsigned mask) {
  const __m256i wanted = _mm256_set1_epi64x(key);
  const auto* halves = reinterpret_cast<const __m256i*>(limits);
  const __m256i low = _mm256_cmpgt_epi64(wanted, halves[0]), high = _mm256_cmpgt_epi64(wanted, halves[1]);
  const auto bits = static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
                                          _mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4);
  return static_cast<uint32_t>(__builtin_popcount(bits & mask));
}

[[gnu::target("avx2,popcnt")]] void search_avx2(const Image& image, const int64_t* keys, uint32_t* leaves,
                                                uint16_t* values, int n) {
  std::fill_n(leaves, n, 0u);
  uint32_t level = 0;
  for (; level + 1 < image.levels; ++level) {
    const Inner* nodes = &image.line<Inner>(image.level[level]);
    const Inner* children = &image.line<Inner>(image.level[level + 1]);
    for (int i = 0; i < n; ++i) {
      leaves[i] = leaves[i] * kInnerChildren + smaller_avx2(nodes[leaves[i]].limit, keys[i], 0xff);
      __builtin_prefetch(&children[leaves[i]]);
    }
  }
  const Leaf* nodes = &image.line<Leaf>(image.level[level]);
  for (int i = 0; i < n; ++i) values[i] = nodes[leaves[i]].value[smaller_avx2(nodes[leaves[i]].limit, keys[i], 0x3f)];
}

#define HEDDLE_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,popcnt")]]

HEDDLE_AVX512 inline uint64_t smaller_avx512(const void* line, __m512i key, __mmask8 limits) {
  const unsigned bits = _mm512_mask_cmplt_epi64_mask(limits, _mm512_load_si512(line), key);
  return static_cast<uint64_t>(__builtin_popcount(bits));
}

/** Eight keys at a time, of addresses as they lie in packets. */
HEDDLE_AVX512 void keys_avx512(const uint8_t (*addresses)[16], int64_t* keys, int n) {
  const __m512i even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), first = _mm512_set1_epi64(INT64_MIN);
  const __m512i swap =
      _mm512_maskz_broadcast_i32x4(0xffff, _mm_set_epi8(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m512i halves =
        _mm512_permutex2var_epi64(_mm512_loadu_si512(addresses[i]), even, _mm512_loadu_si512(addresses[i + 4]));
    _mm512_storeu_si512(keys + i, _mm512_xor_si512(_mm512_shuffle_epi8(halves, swap), first));
  }
  keys_portable(addresses + i, keys + i, n - i);
}

/** Takes kTogether keys from the root to their leaves, all of it in registers: as many as hide the latency of a step. */
HEDDLE_AVX512 inline void descend_avx512(const Image& image, const int64_t* keys, uint32_t* leaves) {
  __m512i key[kTogether];
  uint64_t place[kTogether];  // of the node in its level, in 8 bytes
#pragma GCC unroll 16
  for (int i = 0; i < kTogether; ++i) key[i] = _mm512_set1_epi64(keys[i]), place[i] = 0;
  for (uint32_t level = 0; level + 1 < image.levels; ++level) {
    const int64_t* nodes = image.line<Inner>(image.level[level]).limit;
#pragma GCC unroll 16
    for (int i = 0; i < kTogether; ++i) {
      place[i] = place[i] * kInnerChildren + smaller_avx512(nodes + place[i], key[i], 0xff) * kInnerLimits;
      asm("" : "+r"(place[i]));  // GCC would compute all of them in a vector, and take them out again one by one
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTogether; ++i) leaves[i] = static_cast<uint32_t>(place[i] / kInnerLimits);
}

HEDDLE_AVX512 void search_avx512(const Image& image, const int64_t* keys, uint32_t* leaves, uint16_t* values, int n) {
  const Leaf* nodes = &image.line<Leaf>(image.level[image.levels - 1]);
  for (int base = 0; base < n; base += kTogether) {
    descend_avx512(image, keys + base, leaves + base);
#pragma GCC unroll 16
    for (int i = 0; i < kTogether; ++i) __builtin_prefetch(&nodes[leaves[base + i]]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i)
    values[i] = nodes[leaves[i]].value[smaller_avx512(&nodes[leaves[i]], _mm512_set1_epi64(keys[i]), 0x3f)];
}
#endif

/** What a lookup is made of. */
struct Form {
  decltype(&keys_portable) make_keys;
  Search search;
};

Form form_with(Instructions which) {
#ifdef __x86_64__
  if (which == Instructions::avx512) return {keys_avx512, search_avx512};
  if (which == Instructions::avx2) return {keys_portable, search_avx2};
#endif
  return {keys_portable, search_portable};
}

int count_known() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return 1;
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") ? 3 : 2;
#else
  return 1;
#endif
}

void lookup_with(const Form& form, const Image& image, const uint8_t (*addresses)[16], uint16_t* hops, int n) {
  int64_t keys[kGroup] = {};
  uint32_t leaves[kGroup];
  uint16_t values[kGroup];
  for (int base = 0; base < n; base += kGroup) {
    const int count = std::min(kGroup, n - base);
    form.make_keys(addresses + base, keys, count);
    form.search(image, keys, leaves, values, count);
    uint16_t largest = 0;
    for (int i = 0; i < count; ++i) largest = std::max(largest, hops[base + i] = values[i]);
    if (largest < kFirstTree) continue;
    for (int i = 0; i < count; ++i)
      hops[base + i] = resolved(image, leaves[i], values[i], __builtin_bswap64(load_u64(addresses[base + i] + 8)));
  }
}

const Form best_form = form_with(known_instructions().back());

}  // namespace

std::span<const Instructions> known_instructions() {
  static constexpr std::array kAll = {Instructions::portable, Instructions::avx2, Instructions::avx512};
  static const int known = count_known();
  return {kAll.data(), static_cast<size_t>(known)};
}

void lookup_bulk(const Image& image, const uint8_t (*addresses)[16], uint16_t* hops, int n) {
  lookup_with(best_form, image, addresses, hops, n);
}

void lookup_bulk(Instructions which, const Image& image, const uint8_t (*addresses)[16], uint16_t* hops, int n) {
  lookup_with(form_with(which), image, addresses, hops, n);
}

}  // namespace heddle::ip6_lookup
