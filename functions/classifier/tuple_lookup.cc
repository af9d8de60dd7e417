// TupleEngine's searches: a group of keys goes through one table after the other, first its heads, then the rules that
// they lead to, so that the accesses of many keys are on their way at once.

#include <algorithm>
#include <atomic>
#include <bit>

#include "functions/classifier/tuple_engine.h"

namespace heddle::classifier {
namespace {

constexpr int kGroupSize = 64;

/** A group of keys, and what has been found of each so far. Keys behind the last one count as found. */
struct alignas(64) TupleGroup {
  uint64_t addresses[kGroupSize], rest[kGroupSize];  // Words
  uint32_t best[kGroupSize];                         // number; 0 is never bettered
  uint32_t ids[kGroupSize];
  TupleEntry keys[kGroupSize];  // `low`: the fields and the version
  // Conditions on further places: by rule; values of key i, [place][first + i].
  const TupleCheck* checks;  // null: there are none
  const uint32_t* const* values;
  int places, first;
};

/** Whether all conditions of the rule hold for key i. */
bool holds(const TupleGroup& group, uint32_t i, uint32_t id) {
  const TupleCheck* checks = group.checks + size_t{id} * static_cast<size_t>(group.places);
  bool all = true;
  for (int p = 0; p < group.places; ++p)
    all &= (group.values[p][group.first + static_cast<int>(i)] & checks[p].mask) - checks[p].low <= checks[p].span;
  return all;
}

/** Chains that may have a better rule for a key. */
struct Candidates {
  int count = 0;
  struct {
    uint32_t key, first;  // id + 1
  } list[kGroupSize];
  void add(const TupleEntry* entries, int key, uint32_t first) {
    __builtin_prefetch(&entries[first - 1]);
    list[count++] = {static_cast<uint32_t>(key), first};
  }
};

bool matches_portable(const TupleEntry& key, const TupleEntry& rule) {
  bool all = true;
  for (int lane = 0; lane <= kVersion; ++lane)
    all &= key.low[lane] - std::atomic_ref(const_cast<uint32_t&>(rule.low[lane])).load(std::memory_order_relaxed) <=
           std::atomic_ref(const_cast<uint32_t&>(rule.span[lane])).load(std::memory_order_relaxed);
  return all;
}

/** Finds the chains of `way` in which keys may have better rules; false if no key can have one in it. */
bool find_chains_portable(const TupleGroup& group, const TupleWay& way, const TupleEntry* entries,
                          Candidates& candidates) {
  uint64_t hashes[kGroupSize];
  uint8_t open[kGroupSize];
  int count = 0;
  for (int i = 0; i < kGroupSize; ++i) {
    open[count] = static_cast<uint8_t>(i);
    count += group.best[i] > way.best ? 1 : 0;
  }
  for (int k = 0; k < count; ++k) {
    hashes[k] = hash_of(Words{group.addresses[open[k]], group.rest[open[k]]} & way.mask);
    __builtin_prefetch(&way.heads[hashes[k] >> way.shift]);
  }
  for (int k = 0; k < count; ++k) {
    const uint64_t head = __atomic_load_n(&way.heads[hashes[k] >> way.shift], __ATOMIC_ACQUIRE);
    if (may_have(head, hashes[k])) candidates.add(entries, open[k], static_cast<uint32_t>(head));
  }
  return count > 0;
}

template <bool (*matches)(const TupleEntry& key, const TupleEntry& rule)>
[[gnu::always_inline]] inline void follow(TupleGroup& group, const TupleWay& way, const TupleEntry* entries,
                                          const Candidates& candidates) {
  for (int c = 0; c < candidates.count; ++c) {
    const auto [i, first] = candidates.list[c];
    for (uint32_t at = first; at != 0;) {
      const TupleEntry& rule = entries[at - 1];
      if (rule.low[kNumber] >= group.best[i]) break;
      if (matches(group.keys[i], rule) && (group.checks == nullptr || holds(group, i, at - 1))) {
        group.best[i] = rule.low[kNumber];
        group.ids[i] = at - 1;
        break;
      }
      at = __atomic_load_n(&rule.span[way.link], __ATOMIC_ACQUIRE);
    }
  }
}

/** Goes through the tables; chains are followed when those of the next table have been found. */
template <bool (*find_chains)(const TupleGroup&, const TupleWay&, const TupleEntry*, Candidates&),
          bool (*matches)(const TupleEntry& key, const TupleEntry& rule)>
[[gnu::always_inline]] inline void search_all(TupleGroup& group, const std::vector<TupleWay>& ways,
                                              const TupleEntry* entries) {
  Candidates candidates[2];
  for (size_t w = 0; w < ways.size(); ++w) {
    candidates[w % 2].count = 0;
    const bool open = find_chains(group, ways[w], entries, candidates[w % 2]);
    if (w > 0) follow<matches>(group, ways[w - 1], entries, candidates[(w - 1) % 2]);
    if (!open) return;
  }
  if (!ways.empty()) follow<matches>(group, ways.back(), entries, candidates[(ways.size() - 1) % 2]);
}

void search_portable(TupleGroup& group, const std::vector<TupleWay>& ways, const TupleEntry* entries) {
  search_all<find_chains_portable, matches_portable>(group, ways, entries);
}

#ifdef HEDDLE_AVX2
/** Eight lanes of a rule, which a change may be writing: the compiler must not load them again for a second use, when
 *  they may be others. */
[[gnu::target("avx2")]] inline __m256i load_once(const uint32_t (&lanes)[8]) {
  __m256i loaded = _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes));
  asm volatile("" : "+x"(loaded));
  return loaded;
}

[[gnu::target("avx2")]] inline bool matches_avx2(const TupleEntry& key, const TupleEntry& rule) {
  const __m256i span = load_once(rule.span), low = load_once(rule.low),
                over = _mm256_sub_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(key.low)), low);
  const __m256i within = _mm256_cmpeq_epi32(_mm256_max_epu32(over, span), span);
  return (~_mm256_movemask_ps(_mm256_castsi256_ps(within)) & ((2 << kVersion) - 1)) == 0;
}

[[gnu::target("avx2")]] void search_avx2(TupleGroup& group, const std::vector<TupleWay>& ways,
                                         const TupleEntry* entries) {
  search_all<find_chains_portable, matches_avx2>(group, ways, entries);
}

#define HEDDLE_AVX512 [[gnu::target("avx2,avx512f,avx512dq")]]

/** Eight keys at a time, with the arithmetic of hash_of() and filter_bit(). */
HEDDLE_AVX512 inline bool find_chains_avx512(const TupleGroup& group, const TupleWay& way, const TupleEntry* entries,
                                             Candidates& candidates) {
  const auto word = [](uint64_t value) { return static_cast<long long>(value); };
  const __m512i mask_addresses = _mm512_set1_epi64(word(way.mask.addresses)),
                mask_rest = _mm512_set1_epi64(word(way.mask.rest)), one = _mm512_set1_epi64(1),
                low = _mm512_set1_epi64(31), upper = _mm512_set1_epi64(32);
  const __m512i factors[3] = {_mm512_set1_epi64(word(kFactors[0])), _mm512_set1_epi64(word(kFactors[1])),
                              _mm512_set1_epi64(word(kFactors[2]))};
  uint64_t open = 0;
  const __m512i best = _mm512_set1_epi32(static_cast<int>(way.best));
  for (int i = 0; i < kGroupSize; i += 16)
    open |= uint64_t{_mm512_cmpgt_epu32_mask(_mm512_load_si512(group.best + i), best)} << i;
  for (int i = 0; i < kGroupSize; i += 8) {
    const auto wanted = static_cast<__mmask8>(open >> i);
    if (wanted == 0) continue;
    const __m512i addresses = _mm512_and_si512(_mm512_load_si512(group.addresses + i), mask_addresses),
                  rest = _mm512_and_si512(_mm512_load_si512(group.rest + i), mask_rest);
    __m512i hash = _mm512_add_epi64(_mm512_mullo_epi64(addresses, factors[0]), _mm512_mullo_epi64(rest, factors[1]));
    hash = _mm512_mullo_epi64(_mm512_xor_si512(hash, _mm512_maskz_srli_epi64(wanted, hash, 32)), factors[2]);
    const __m512i index = _mm512_maskz_srl_epi64(wanted, hash, _mm_cvtsi32_si128(way.shift)),
                  heads = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), wanted, index, way.heads, 8),
                  bit = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(wanted, hash, 8), low, upper, 0xea);
    const __mmask8 found = _mm512_mask_test_epi64_mask(wanted, _mm512_maskz_srlv_epi64(wanted, heads, bit), one);
    if (found == 0) continue;
    alignas(64) uint64_t head[8];
    _mm512_store_si512(head, heads);
    for (unsigned left = found; left != 0; left &= left - 1) {
      const int k = std::countr_zero(left);
      candidates.add(entries, i + k, static_cast<uint32_t>(head[k]));
    }
  }
  return open != 0;
}

HEDDLE_AVX512 void search_avx512(TupleGroup& group, const std::vector<TupleWay>& ways, const TupleEntry* entries) {
  search_all<find_chains_avx512, matches_avx2>(group, ways, entries);
}
#endif

using SearchTuples = void (*)(TupleGroup&, const std::vector<TupleWay>&, const TupleEntry*);
constexpr SearchTuples kTupleSearches[] = {search_portable,
#ifdef HEDDLE_AVX2
                                           search_avx2, search_avx512
#endif
};

}  // namespace

void TupleEngine::classify(const uint32_t* const* keys, Outcome* outcomes, int n) const {
  const uint32_t version = version_.load(std::memory_order_acquire);
  const Ways& ways = *ways_.load(std::memory_order_acquire);  // after the version: they have all rules of it
  const auto* entries = reinterpret_cast<const TupleEntry*>(entries_.get());
  TupleGroup group;
  group.checks = reinterpret_cast<const TupleCheck*>(checks_.get());
  group.values = keys + kFields;
  group.places = static_cast<int>(limits_.layout.size());
  const SearchTuples search = kTupleSearches[static_cast<size_t>(limits_.simd)];
  for (int base = 0; base < n; base += kGroupSize) {
    const int count = std::min(kGroupSize, n - base);
    group.first = base;
    for (int i = 0; i < count; ++i) {
      const int k = base + i;
      const Words words = words_of(keys[0][k], keys[1][k], keys[2][k], keys[3][k], keys[4][k]);
      group.addresses[i] = words.addresses, group.rest[i] = words.rest;
      for (int f = 0; f < kFields; ++f) group.keys[i].low[f] = keys[f][k];
      group.keys[i].low[kVersion] = version;
      group.best[i] = kNoRule, group.ids[i] = kNoId;
    }
    for (int i = count; i < kGroupSize; ++i) group.best[i] = 0;
    search(group, ways, entries);
    for (int i = 0; i < count; ++i)
      outcomes[base + i] = {group.best[i], group.ids[i],
                            group.ids[i] == kNoId ? limits_.no_match : entries[group.ids[i]].low[kNext]};
  }
}

}  // namespace heddle::classifier
