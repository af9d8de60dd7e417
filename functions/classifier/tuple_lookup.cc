// TupleEngine's searches: a group of keys goes through one table after the other, first its heads, then the rules that they
// lead to, so that the accesses of many keys are on their way at once.

#include <algorithm>
#include <atomic>

#include "functions/classifier/tuple_engine.h"
#include "functions/ip_lookup/simd.h"

namespace heddle::classifier {
namespace {

constexpr int kGroup = 64;

/** A group of keys, and what has been found of each so far. */
struct Group {
  Words words[kGroup];
  TupleEntry keys[kGroup];  // `low`: the fields and the version
  uint32_t best[kGroup];    // number
  uint32_t ids[kGroup];
  int left[kGroup];  // keys for which tables may still have a better rule
  int left_count;
};

/** A chain that may have a rule for a key. */
struct Candidate {
  int key;
  uint32_t first;  // id + 1
};

bool matches_portable(const TupleEntry& key, const TupleEntry& rule) {
  bool all = true;
  for (int lane = 0; lane <= kVersion; ++lane)
    all &= key.low[lane] - std::atomic_ref(const_cast<uint32_t&>(rule.low[lane])).load(std::memory_order_relaxed) <=
           std::atomic_ref(const_cast<uint32_t&>(rule.span[lane])).load(std::memory_order_relaxed);
  return all;
}

/** The keys that `way` may have a better rule for. */
void keep_open(Group& group, const TupleWay& way) {
  int kept = 0;
  for (int k = 0; k < group.left_count; ++k) {
    group.left[kept] = group.left[k];
    kept += group.best[group.left[k]] > way.best ? 1 : 0;
  }
  group.left_count = kept;
}

int find_chains_portable(const Group& group, const TupleWay& way, const TupleEntry* entries, Candidate* candidates) {
  uint64_t hashes[kGroup];
  for (int k = 0; k < group.left_count; ++k) {
    hashes[k] = hash_of(group.words[group.left[k]] & way.mask);
    __builtin_prefetch(&way.heads[hashes[k] >> way.shift]);
  }
  int count = 0;
  for (int k = 0; k < group.left_count; ++k) {
    const uint64_t head = __atomic_load_n(&way.heads[hashes[k] >> way.shift], __ATOMIC_ACQUIRE);
    const auto first = static_cast<uint32_t>(head);
    candidates[count] = {group.left[k], first};
    if ((head >> 32 >> filter_bit(hashes[k]) & 1) == 0 || first == 0) continue;
    __builtin_prefetch(&entries[first - 1]);
    ++count;
  }
  return count;
}

template <bool (*matches)(const TupleEntry& key, const TupleEntry& rule)>
[[gnu::always_inline]] inline void follow(Group& group, const TupleWay& way, const TupleEntry* entries,
                                          const Candidate& candidate) {
  const int i = candidate.key;
  for (uint32_t at = candidate.first; at != 0;) {
    const TupleEntry& rule = entries[at - 1];
    if (rule.low[kNumber] >= group.best[i]) return;
    if (matches(group.keys[i], rule)) {
      group.best[i] = rule.low[kNumber];
      group.ids[i] = at - 1;
      return;
    }
    at = __atomic_load_n(&rule.span[way.link], __ATOMIC_ACQUIRE);
  }
}

void search_portable(Group& group, const std::vector<TupleWay>& ways, const TupleEntry* entries) {
  Candidate candidates[kGroup];
  for (const TupleWay& way : ways) {
    keep_open(group, way);
    if (group.left_count == 0) return;
    const int count = find_chains_portable(group, way, entries, candidates);
    for (int c = 0; c < count; ++c) follow<matches_portable>(group, way, entries, candidates[c]);
  }
}

#ifdef HEDDLE_AVX2
[[gnu::target("avx2")]] inline bool matches_avx2(const TupleEntry& key, const TupleEntry& rule) {
  const __m256i span = _mm256_load_si256(reinterpret_cast<const __m256i*>(rule.span)),
                low = _mm256_load_si256(reinterpret_cast<const __m256i*>(rule.low)),
                over = _mm256_sub_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(key.low)), low);
  const __m256i within = _mm256_cmpeq_epi32(_mm256_max_epu32(over, span), span);
  return (~_mm256_movemask_ps(_mm256_castsi256_ps(within)) & ((2 << kVersion) - 1)) == 0;
}

[[gnu::target("avx2")]] void search_avx2(Group& group, const std::vector<TupleWay>& ways, const TupleEntry* entries) {
  Candidate candidates[kGroup];
  for (const TupleWay& way : ways) {
    keep_open(group, way);
    if (group.left_count == 0) return;
    const int count = find_chains_portable(group, way, entries, candidates);
    for (int c = 0; c < count; ++c) follow<matches_avx2>(group, way, entries, candidates[c]);
  }
}
#endif

using Search = void (*)(Group&, const std::vector<TupleWay>&, const TupleEntry*);
Search best_search() {
#ifdef HEDDLE_AVX2
  if (__builtin_cpu_supports("avx2")) return search_avx2;
#endif
  return search_portable;
}
const Search search = best_search();

}  // namespace

void TupleEngine::classify(const uint32_t* const (&keys)[kFields], Outcome* outcomes, int n) const {
  const uint32_t version = version_.load(std::memory_order_acquire);
  const Ways& ways = *ways_.load(std::memory_order_acquire);  // after the version: they have all rules of it
  const auto* entries = reinterpret_cast<const TupleEntry*>(entries_.get());
  Group group;
  for (int base = 0; base < n; base += kGroup) {
    const int count = std::min(kGroup, n - base);
    for (int i = 0; i < count; ++i) {
      const int k = base + i;
      group.words[i] = words_of(keys[0][k], keys[1][k], keys[2][k], keys[3][k], keys[4][k]);
      for (int f = 0; f < kFields; ++f) group.keys[i].low[f] = keys[f][k];
      group.keys[i].low[kVersion] = version;
      group.best[i] = kNoRule, group.ids[i] = kNoId, group.left[i] = i;
    }
    group.left_count = count;
    search(group, ways, entries);
    for (int i = 0; i < count; ++i)
      outcomes[base + i] = {group.best[i], group.ids[i],
                            group.ids[i] == kNoId ? limits_.no_match : entries[group.ids[i]].low[kNext]};
  }
}

}  // namespace heddle::classifier
