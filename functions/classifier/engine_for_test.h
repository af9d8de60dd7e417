// An engine with its set of rules, and a search of all rules to compare it with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "functions/classifier/auto_engine.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/oracle_for_test.h"
#include "functions/classifier/rule_set.h"

namespace heddle::classifier {

constexpr uint16_t kNoMatch = 7;

/** An engine, its set, and the rules as they ought to be. */
struct Subject {
  /** Without a kind it is ENGINE auto. */
  explicit Subject(std::optional<EngineKind> kind, size_t most_bytes = size_t{1} << 30)
      : engine(make({kNoMatch, most_bytes}, kind)) {}
  Subject(EngineKind kind, SearchForm form, Simd simd = simds().front())
      : engine(make_engine(kind, {.no_match = kNoMatch, .most_bytes = size_t{1} << 30, .form = form, .simd = simd})) {}

  void load(const std::vector<Rule>& rules, uint32_t step) {
    set.load(rules, step, *engine);
    engine->start();
    wanted.clear();
    for (uint32_t i = 0; i < rules.size(); ++i) wanted[i * step] = rules[i];
  }
  void change(const std::vector<RuleChange>& changes) {
    set.change(changes, *engine);
    for (const auto& [number, rule] : changes)
      if (rule)
        wanted[number] = *rule;
      else
        wanted.erase(number);
  }
  void reclaim() {
    engine->reclaim();
    set.reclaim();
  }
  std::vector<Rule> rules() const {
    std::vector<Rule> result;
    for (const auto& [number, rule] : wanted) result.push_back(rule);
    return result;
  }

  std::vector<Outcome> classify(const std::vector<Key>& keys, int piece) const {
    std::vector<uint32_t> fields[kFields];
    for (size_t f = 0; f < kFields; ++f)
      for (const Key& key : keys) fields[f].push_back(key[f]);
    std::vector<Outcome> outcomes(keys.size());
    for (size_t at = 0; at < keys.size(); at += static_cast<size_t>(piece)) {
      const uint32_t* const columns[kFields] = {&fields[0][at], &fields[1][at], &fields[2][at], &fields[3][at],
                                                &fields[4][at]};
      engine->classify(columns, &outcomes[at], std::min(piece, static_cast<int>(keys.size() - at)));
    }
    return outcomes;
  }

  void expect_right(const std::vector<Key>& keys) const {
    std::vector<uint32_t> numbers;
    for (const auto& [number, rule] : wanted) numbers.push_back(number);
    const auto rules = this->rules();
    const auto outcomes = classify(keys, 97);
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint32_t place = first_match(rules, keys[i]);
      const uint32_t number = place == kNoRule ? kNoRule : numbers[place];
      ASSERT_EQ(outcomes[i].number, number) << "of " << rules.size() << " rules, key " << i << ": " << text_of(keys[i]);
      ASSERT_EQ(outcomes[i].next, place == kNoRule ? kNoMatch : rules[place].next);
      ASSERT_EQ(outcomes[i].id, place == kNoRule ? kNoId : set.find(number)->id);
    }
  }

  static std::unique_ptr<RuleEngine> make(const RuleEngine::Limits& limits, std::optional<EngineKind> kind) {
    if (!kind) return std::make_unique<AutoEngine>(limits);
    return make_engine(*kind, limits);
  }

  std::unique_ptr<RuleEngine> engine;
  RuleSet set;
  std::map<uint32_t, Rule> wanted;
};

/** Waits until whoever reads now has ended. */
inline void wait_for_readers(const std::vector<std::atomic<uint64_t>>& calls) {
  for (const auto& of : calls)
    for (const uint64_t before = of; of < before + 2;) std::this_thread::yield();
}

}  // namespace heddle::classifier
