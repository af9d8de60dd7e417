// Lookups on the CPU. By hand: a group of keys goes through the tree level by level, so that the accesses of many keys
// are on their way at once. By gopt: each goes on as soon as its node is there.

#include <algorithm>
#include <cstring>
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

constexpr int kTogether = 8, kGroup = 8 * kTogether;

/** Searches the main tree for n addresses as they lie in packets, n a multiple of kTogether up to kGroup: leaves[i] and
 *  values[i] are those of addresses[i]. */
using Search = void (*)(const Image&, const uint8_t (*addresses)[16], uint32_t* leaves, uint16_t* values, int n);

void make_keys(const uint8_t (*addresses)[16], int64_t* keys, int n) {
  for (int i = 0; i < n; ++i) keys[i] = ordered(__builtin_bswap64(load_u64(addresses[i])));
}

void search_portable(const Image& image, const uint8_t (*addresses)[16], uint32_t* leaves, uint16_t* values, int n) {
  int64_t keys[kGroup];
  make_keys(addresses, keys, n);
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

[[gnu::target("avx2,popcnt")]] void search_avx2(const Image& image, const uint8_t (*addresses)[16], uint32_t* leaves,
                                                uint16_t* values, int n) {
  int64_t keys[kGroup];
  make_keys(addresses, keys, n);
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

/** The key of an address, in each lane. It is made again where it is needed: that is faster than to store it and to
 *  read it back. */
HEDDLE_AVX512 inline __m512i key_avx512(const uint8_t* address) {
  const __m512i swap = _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607);
  const __m512i halves = _mm512_shuffle_epi8(_mm512_set1_epi64(static_cast<int64_t>(load_u64(address))), swap);
  return _mm512_xor_si512(halves, _mm512_set1_epi64(INT64_MIN));
}

/** How many of the 8 words of a line are smaller than the key; `limits`: those that count. */
HEDDLE_AVX512 inline uint64_t smaller_avx512(const void* line, __m512i key, unsigned limits) {
  // In this order the line is an operand in memory.
  const unsigned bits = _mm512_cmpgt_epi64_mask(key, _mm512_load_si512(line)) & limits;
  return static_cast<uint64_t>(__builtin_popcount(bits));
}

/** The keys of eight addresses, one a lane. */
HEDDLE_AVX512 inline __m512i keys_avx512(const uint8_t (*addresses)[16]) {
  const __m512i swap = _mm512_set4_epi32(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607);
  const __m512i first_halves = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i halves =
      _mm512_permutex2var_epi64(_mm512_loadu_si512(addresses[0]), first_halves, _mm512_loadu_si512(addresses[4]));
  return _mm512_xor_si512(_mm512_shuffle_epi8(halves, swap), _mm512_set1_epi64(INT64_MIN));
}

/** The node of the top level that each of eight keys is in: a binary search, whose limits come out of registers. */
HEDDLE_AVX512 inline __m512i top_nodes(const __m512i (&top)[8], __m512i keys) {
  constexpr __mmask8 kEach = 0xff;
  __m512i m = _mm512_setzero_si512();  // limits 8 m + 7 and those before are smaller
  for (const int step : {4, 2, 1}) {
    const __m512i at = _mm512_add_epi64(m, _mm512_set1_epi64(step - 1));
    const __mmask8 beyond = _mm512_cmpgt_epi64_mask(keys, _mm512_maskz_permutexvar_epi64(kEach, at, top[7]));
    m = _mm512_mask_add_epi64(m, beyond, m, _mm512_set1_epi64(step));
  }
  // Of the eight limits from 8 m on the last is not smaller.
  const __mmask8 four = _mm512_cmpgt_epi64_mask(keys, _mm512_maskz_permutexvar_epi64(kEach, m, top[3]));
  const __m512i at = _mm512_mask_add_epi64(m, four, m, _mm512_set1_epi64(8));  // of two registers, the second
  const __mmask8 two = _mm512_cmpgt_epi64_mask(keys, _mm512_permutex2var_epi64(top[1], at, top[5]));
  const __m512i last = _mm512_mask_blend_epi64(two, _mm512_permutex2var_epi64(top[0], at, top[4]),
                                               _mm512_permutex2var_epi64(top[2], at, top[6]));
  const __mmask8 one = _mm512_cmpgt_epi64_mask(keys, last);
  __m512i node = _mm512_maskz_slli_epi64(kEach, m, 3);
  node = _mm512_mask_add_epi64(node, four, node, _mm512_set1_epi64(4));
  node = _mm512_mask_add_epi64(node, two, node, _mm512_set1_epi64(2));
  return _mm512_mask_add_epi64(node, one, node, _mm512_set1_epi64(1));
}

/** Takes all n keys to the top level, then kTogether at a time to their leaves, all of it in registers; then come the
 *  leaves of all n. */
HEDDLE_AVX512 void search_avx512(const Image& image, const uint8_t (*addresses)[16], uint32_t* leaves, uint16_t* values,
                                 int n) {
  static_assert(kTogether == 8);
  const Leaf* nodes = &line_of<Leaf>(image, image.level[image.levels - 1]);
  __m512i top[8];
  for (int k = 0; k < 8; ++k) top[k] = _mm512_loadu_si512(image.top[k]);
  uint64_t places[kGroup];  // of the node in its level, in 8 bytes
  // All before one goes on: the steps of one search wait for each other, and those of others fill the time.
  for (int base = 0; base < n; base += kTogether)
    _mm512_storeu_si512(places + base, _mm512_maskz_slli_epi64(0xff, top_nodes(top, keys_avx512(addresses + base)), 3));
  for (int base = 0; base < n; base += kTogether) {
    __m512i key[kTogether];
    uint64_t place[kTogether];
#pragma GCC unroll 8
    for (int i = 0; i < kTogether; ++i) key[i] = key_avx512(addresses[base + i]), place[i] = places[base + i];
    for (uint32_t level = image.top_level; level + 1 < image.levels; ++level) {
      const int64_t* inner = line_of<Inner>(image, image.level[level]).limit;
#pragma GCC unroll 8
      for (int i = 0; i < kTogether; ++i) {
        place[i] = place[i] * kInnerChildren + smaller_avx512(inner + place[i], key[i], 0xff) * kInnerLimits;
        asm("" : "+r"(place[i]));  // GCC would compute all of them in a vector, and take them out again one by one
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kTogether; ++i) {
      leaves[base + i] = static_cast<uint32_t>(place[i] / kInnerLimits);
      __builtin_prefetch(&nodes[leaves[base + i]]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < n; ++i)
    values[i] = nodes[leaves[i]].value[smaller_avx512(&nodes[leaves[i]], key_avx512(addresses[i]), 0x3f)];
}
#endif

template <Search search>
void by_hand(const Image* image, const uint8_t (*addresses)[16], uint16_t* hops, int n) {
  const auto group = [image](const uint8_t(*keys)[16], uint16_t* values, int count) {
    uint32_t leaves[kGroup];
    search(*image, keys, leaves, values, count);
    for (int i = 0; i < count; ++i)
      if (values[i] >= kFirstTree) [[unlikely]]
        values[i] = resolved_value(image, leaves[i], values[i], __builtin_bswap64(load_u64(keys[i] + 8)));
  };
  int done = 0;
  for (int count; (count = std::min(kGroup, (n - done) / kTogether * kTogether)) > 0; done += count)
    group(addresses + done, hops + done, count);
  if (done == n) return;
  uint8_t rest[kTogether][16] = {};
  uint16_t values[kTogether];
  std::memcpy(rest, addresses + done, static_cast<size_t>(n - done) * sizeof rest[0]);
  group(rest, values, kTogether);
  std::copy_n(values, n - done, hops + done);
}

/** Level by level: those of a group that go on stay in the list. `early`: the first entries have been asked for. */
template <bool early>
void trie_by_hand(const Image* image, const uint8_t (*addresses)[16], uint16_t* hops, int n) {
  constexpr int kAhead = 32;  // cache misses in flight at once
  const uint32_t* trie = trie_of(*image);
  const uint32_t* entry[kAhead];
  int under_way[kAhead];
  for (int first = 0; first < n; first += kAhead) {
    int left = std::min(kAhead, n - first);
    for (int k = 0; k < left; ++k) {
      entry[k] = &trie[half_at(addresses[first + k]) >> (64 - kTrieRootBits)];
      if (!early) __builtin_prefetch(entry[k]);
      under_way[k] = first + k;
    }
    for (int byte = kTrieRootBits / 8; left > 0; ++byte) {
      int deeper = 0;
      for (int k = 0; k < left; ++k) {
        const int i = under_way[k];
        const uint32_t found = ROUTE_ENTRY(uint32_t, entry[k]);
        hops[i] = static_cast<uint16_t>(found);
        if (found < kTrieGroup) continue;
        entry[deeper] = &trie[kTrieRootEntries + uint64_t{found - kTrieGroup} * kTrieGroupEntries + addresses[i][byte]];
        __builtin_prefetch(entry[deeper]);
        under_way[deeper++] = i;
      }
      left = deeper;
    }
  }
}

constexpr Form kOfTrie[] = {
    {"by hand", trie_by_hand<false>}, {"gopt", ip6_trie_lookups_gopt}, {"prefetched early", trie_by_hand<true>, true}};

constexpr Form kAll[] = {
#ifdef __x86_64__
    {"by hand, AVX-512", by_hand<search_avx512>},
    {"gopt, AVX-512", ip6_lookups_gopt_avx512},
    {"by hand, AVX2", by_hand<search_avx2>},
#endif
    {"by hand", by_hand<search_portable>},
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

std::span<const Form> forms(EngineKind engine, bool early) {
  if (engine == EngineKind::trie) return std::span(kOfTrie).first(std::size(kOfTrie) - (early ? 0 : 1));
  static const size_t unknown = count_unknown();
  return std::span(kAll).subspan(unknown);
}

void RouteTable::choose_form(bool early) {
  constexpr size_t kLookups = 32 * kGroup;
  chosen_with_ = routes_.size(), chosen_early_ = early;
  const std::span<const Form> all = forms(engine_, early);
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
    const auto ask = [&](const uint8_t(*from)[16]) {
      for (int i = 0; i < kGroup; ++i) trie_prefetch(image(), from[i]);
    };
    // What the engine does, whose elements between have a batch to go through: here the look-ups of the one before.
    if (all[form].early) ask(next);
    for (const auto* end = next + kLookups; next < end; next += kGroup) {
      if (all[form].early && next + kGroup < end) ask(next + kGroup);
      all[form].look_up(&image(), next, hops, kGroup);
    }
  })];
}

void RouteTable::choose_form_again(bool early) {
  const size_t now = routes_.size();
  if (!chosen_with_ || chosen_early_ != early || now > 2 * *chosen_with_ || *chosen_with_ > 2 * now) choose_form(early);
}

}  // namespace heddle::ip6_lookup
