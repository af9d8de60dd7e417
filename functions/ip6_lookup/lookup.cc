// Lookups on the CPU. By hand: a group of keys goes through the tree level by level, so that the accesses of many keys
// are on their way at once. By gopt: each goes on as soon as its node is there.

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "core/fastest.h"
#include "core/load.h"
#include "functions/ip6_lookup/lookups.h"
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
    const Inner* nodes = &line_of<Inner>(image, image.level[level]);
    const Inner* children = &line_of<Inner>(image, image.level[level + 1]);
    for (int i = 0; i < n; ++i) {
      leaves[i] = leaves[i] * kInnerChildren + limits_below(nodes[leaves[i]].limit, kInnerLimits, keys[i]);
      __builtin_prefetch(&children[leaves[i]]);
    }
  }
  const Leaf* nodes = &line_of<Leaf>(image, image.level[level]);
  for (int i = 0; i < n; ++i)
    values[i] = nodes[leaves[i]].value[limits_below(nodes[leaves[i]].limit, kLeafLimits, keys[i])];
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
    const Inner* nodes = &line_of<Inner>(image, image.level[level]);
    const Inner* children = &line_of<Inner>(image, image.level[level + 1]);
    for (int i = 0; i < n; ++i) {
      leaves[i] = leaves[i] * kInnerChildren + smaller_avx2(nodes[leaves[i]].limit, keys[i], 0xff);
      __builtin_prefetch(&children[leaves[i]]);
    }
  }
  const Leaf* nodes = &line_of<Leaf>(image, image.level[level]);
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

/** Takes kTogether keys from the root to their leaves, all of it in registers: as many as hide the latency of a
 *  step. */
HEDDLE_AVX512 inline void descend_avx512(const Image& image, const int64_t* keys, uint32_t* leaves) {
  __m512i key[kTogether];
  uint64_t place[kTogether];  // of the node in its level, in 8 bytes
#pragma GCC unroll 16
  for (int i = 0; i < kTogether; ++i) key[i] = _mm512_set1_epi64(keys[i]), place[i] = 0;
  for (uint32_t level = 0; level + 1 < image.levels; ++level) {
    const int64_t* nodes = line_of<Inner>(image, image.level[level]).limit;
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
  const Leaf* nodes = &line_of<Leaf>(image, image.level[image.levels - 1]);
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

/** `make_keys` and `search` are what a lookup by hand is made of. */
template <decltype(&keys_portable) make_keys, Search search>
void by_hand(const Image* image, const uint8_t (*addresses)[16], uint16_t* hops, int n) {
  int64_t keys[kGroup] = {};
  uint32_t leaves[kGroup];
  uint16_t values[kGroup];
  for (int base = 0; base < n; base += kGroup) {
    const int count = std::min(kGroup, n - base);
    make_keys(addresses + base, keys, count);
    search(*image, keys, leaves, values, count);
    uint16_t largest = 0;
    for (int i = 0; i < count; ++i) largest = std::max(largest, hops[base + i] = values[i]);
    if (largest < kFirstTree) continue;
    for (int i = 0; i < count; ++i)
      hops[base + i] =
          resolved_value(image, leaves[i], values[i], __builtin_bswap64(load_u64(addresses[base + i] + 8)));
  }
}

constexpr Form kAll[] = {
#ifdef __x86_64__
    {"by hand, AVX-512", by_hand<keys_avx512, search_avx512>},
    {"gopt, AVX-512", ip6_lookups_gopt_avx512},
    {"by hand, AVX2", by_hand<keys_portable, search_avx2>},
#endif
    {"by hand", by_hand<keys_portable, search_portable>},
    {"gopt", ip6_lookups_gopt}};

size_t count_unknown() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return 3;
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") ? 0 : 2;
#else
  return 0;
#endif
}

}  // namespace

std::span<const Form> forms() {
  static const size_t unknown = count_unknown();
  return std::span(kAll).subspan(unknown);
}

void RouteTable::choose_form() {
  constexpr size_t kLookups = 32 * kGroup;
  chosen_with_ = routes_.size();
  const std::span<const Form> all = forms();
  // Others each time, so that no way finds in a cache what the one before has fetched; in routes, for where none is,
  // all lookups would end in a few leaves.
  struct Key {
    uint64_t halves[2];
  };
  std::mt19937_64 random(1);
  std::vector<Key> keys(kLookups * all.size() * kFastestRounds);
  for (Key& key : keys) {
    const Prefix prefix = routes_.empty() ? Prefix{} : routes_[random() % routes_.size()].prefix;
    const Address mask = prefix_mask(prefix.length);
    key = {{__builtin_bswap64(prefix.address.high | (random() & ~mask.high)),
            __builtin_bswap64(prefix.address.low | (random() & ~mask.low))}};
  }
  const auto* next = reinterpret_cast<const uint8_t(*)[16]>(keys.data());
  uint16_t hops[kGroup];
  form_ = &all[fastest(all.size(), [&](size_t form) {
    for (const auto* end = next + kLookups; next < end; next += kGroup) all[form].look_up(&image(), next, hops, kGroup);
  })];
}

void RouteTable::choose_form_again() {
  const size_t now = routes_.size();
  if (!chosen_with_ || now > 2 * *chosen_with_ || *chosen_with_ > 2 * now) choose_form();
}

}  // namespace heddle::ip6_lookup
