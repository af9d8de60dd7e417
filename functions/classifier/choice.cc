// ENGINE auto: the engine that is the fastest for a set of rules, by trying.

#include <algorithm>
#include <chrono>
#include <random>

#include "core/error.h"
#include "functions/classifier/engine.h"

namespace heddle::classifier {
namespace {

constexpr int kKeys = 1024, kBurst = 64, kRounds = 5;
constexpr double kRoundSeconds = 0.5e-3;

/** Keys of which four of five lie in a rule, the same for the same rules. */
class SyntheticKeys {
 public:
  SyntheticKeys(std::span<const SetRule> rules, const Layout& layout) : values_(kFields + layout.size()) {
    std::mt19937 random(1);
    for (int k = 0; k < kKeys; ++k) {
      const Rule& rule = rules[random() % rules.size()].rule;
      const bool inside = random() % 5 != 0;
      for (size_t f = 0; f < kFields; ++f)
        values_[f].push_back(inside ? within(rule.low[f], rule.high[f], random) : any(kLargest[f], random));
      for (size_t p = 0; p < layout.size(); ++p) {
        uint32_t value =
            layout[p].kind == Place::field ? values_[layout[p].offset].back() : any(layout[p].largest(), random);
        const auto asked = std::ranges::find(rule.more, layout[p], &Condition::place);
        if (inside && asked != rule.more.end())
          value =
              asked->low == asked->high ? (value & ~asked->mask) | asked->low : within(asked->low, asked->high, random);
        values_[kFields + p].push_back(value);
        if (layout[p].kind == Place::field) values_[layout[p].offset].back() = value;
      }
    }
  }

  /** Keys a second. */
  double rate(const RuleEngine& engine) const {
    using Clock = std::chrono::steady_clock;
    std::vector<const uint32_t*> keys(values_.size());
    Outcome outcomes[kBurst];
    uint64_t done = 0;
    const auto start = Clock::now();
    std::chrono::duration<double> passed{};
    do {
      for (int at = 0; at < kKeys; at += kBurst) {
        for (size_t f = 0; f < keys.size(); ++f) keys[f] = &values_[f][static_cast<size_t>(at)];
        engine.classify(keys.data(), outcomes, kBurst);
      }
      done += kKeys;
      passed = Clock::now() - start;
    } while (passed.count() < kRoundSeconds);
    return static_cast<double>(done) / passed.count();
  }

 private:
  static uint32_t any(uint32_t largest, std::mt19937& random) { return static_cast<uint32_t>(random()) & largest; }
  static uint32_t within(uint32_t low, uint32_t high, std::mt19937& random) {
    return low + static_cast<uint32_t>(random() % (uint64_t{high} - low + 1));
  }

  std::vector<std::vector<uint32_t>> values_;
};

/** Rules with ids of their own. */
std::vector<SetRule> with_ids(std::span<const SetRule> rules) {
  std::vector<SetRule> result(rules.begin(), rules.end());
  for (uint32_t id = 0; id < result.size(); ++id) result[id].id = id;
  return result;
}

}  // namespace

EngineChoice choose_engine(std::span<const SetRule> rules, const RuleEngine::Limits& limits, bool on_gpu) {
  if (on_gpu) return {EngineKind::bitvector, "what a GPU has for sets that fit"};
  const std::vector<SetRule> set = with_ids(rules);
  RuleEngine::Limits measured = limits;
  measured.most_bytes = std::min(limits.most_bytes, kMostMeasuredBytes);
  const auto vectors = make_engine(EngineKind::bitvector, measured);
  try {
    vectors->load(set);
  } catch (const Error& error) {
    const std::string why = error.what();
    return {EngineKind::tuple, why.find("MEMORY") == why.npos
                                   ? why
                                   : format("%zu rules, for which bit vectors of %zu MB would not be enough",
                                            rules.size(), measured.most_bytes >> 20)};
  }
  if (rules.size() <= kFewRules)
    return {EngineKind::bitvector, format("%zu rules, no more than %zu", rules.size(), kFewRules)};
  const auto tuples = make_engine(EngineKind::tuple, limits);
  try {
    tuples->load(set);
  } catch (const Error& error) {
    return {EngineKind::bitvector, error.what()};
  }
  const SyntheticKeys keys(set, limits.layout);
  double rates[2] = {};
  for (int round = 0; round < kRounds; ++round) {
    rates[0] = std::max(rates[0], keys.rate(*vectors));
    rates[1] = std::max(rates[1], keys.rate(*tuples));
  }
  return {rates[0] >= rates[1] ? EngineKind::bitvector : EngineKind::tuple,
          format("%zu rules, tried with synthetic keys: bitvector %.1f, tuple %.1f million a second", rules.size(),
                 rates[0] / 1e6, rates[1] / 1e6)};
}

}  // namespace heddle::classifier
