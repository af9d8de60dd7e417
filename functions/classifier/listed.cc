// Lookups among listed rules: each rule is compared with a group of keys at once, field by field until none is left.

#include "functions/classifier/listed.h"

namespace heddle::classifier {
namespace {

/** Keys that are looked up together, and what has been found for them. */
struct Group {
  static constexpr int kMax = 64;
  const uint32_t* keys[kFields];
  int count;
  uint32_t numbers[kMax];  // of the rules that they hit so far
  uint32_t maybe[kMax];    // not 0: the rule that is being looked at may have a lower one
};

/** Whether any key of the group lies in the rule's ranges and has hit no rule before it; sets `maybe` then. */
using Within = bool (*)(const PlainRule& rule, Group& group);

[[gnu::always_inline]] inline bool any_within(const PlainRule& rule, Group& group) {
  uint32_t any = ~0u, before = ~0u;
  const auto narrow = [&](const auto& holds) __attribute__((always_inline)) {
    any = 0;
    for (int i = 0; i < group.count; ++i) {
      group.maybe[i] = (group.maybe[i] | before) & (holds(i) ? ~0u : 0);
      any |= group.maybe[i];
    }
    before = 0;
  };
  for (int f = 0; f < kFields && any != 0; ++f) {
    const uint32_t* values = group.keys[f];
    const uint32_t low = rule.low[f], span = rule.high[f] - low;
    if (span != kLargest[f]) narrow([&](int i) __attribute__((always_inline)) { return values[i] - low <= span; });
  }
  const uint32_t number = rule.outcome.number;
  if (any != 0) narrow([&](int i) __attribute__((always_inline)) { return number < group.numbers[i]; });
  return any != 0;
}

bool within_portable(const PlainRule& rule, Group& group) { return any_within(rule, group); }
#ifdef HEDDLE_AVX2
[[gnu::target("avx2")]] bool within_avx2(const PlainRule& rule, Group& group) { return any_within(rule, group); }
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq")]] bool within_avx512(const PlainRule& rule, Group& group) {
  return any_within(rule, group);
}
#endif

constexpr Within kWithin[] = {within_portable,
#ifdef HEDDLE_AVX2
                              within_avx2, within_avx512
#endif
};

}  // namespace

void search_listed(const Image& image, const Moment& when, const uint32_t* const* keys, Outcome* outcomes, int n,
                   Simd simd) {
  const Within within = kWithin[static_cast<size_t>(simd)];
  const auto* rules = image.at<PlainRule>(image.listed);
  Group group;
  for (int base = 0; base < n; base += Group::kMax) {
    group.count = std::min(Group::kMax, n - base);
    for (int f = 0; f < kFields; ++f) group.keys[f] = keys[f] + base;
    for (int i = 0; i < group.count; ++i) group.numbers[i] = outcomes[base + i].number, group.maybe[i] = 0;
    for (const PlainRule* rule = rules; rule != rules + when.listed; ++rule) {
      if (!when.is_before(rule->end) || !within(*rule, group)) continue;
      for (int i = 0; i < group.count; ++i)
        if (group.maybe[i] != 0 && matches(image, when, *rule, keys, base + i))
          outcomes[base + i] = rule->outcome, group.numbers[i] = rule->outcome.number;
    }
  }
}

}  // namespace heddle::classifier
