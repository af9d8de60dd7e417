// Every engine against a search of all rules: sets of all kinds, changes in random order, sets replaced.

#include "functions/classifier/engine.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "functions/classifier/classbench_for_test.h"
#include "functions/classifier/engine_for_test.h"
#include "functions/classifier/hits.h"
#include "functions/classifier/image_engine.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/tuple_engine.h"
#include "measure/generate/filter_set.h"
#include "tests/support/frames.h"
#include "tests/support/sanitizer.h"

namespace heddle::classifier {
namespace {

class RuleEngineTest : public testing::TestWithParam<std::optional<EngineKind>> {};  // none: ENGINE auto
INSTANTIATE_TEST_SUITE_P(All, RuleEngineTest,
                         testing::Values(EngineKind::bitvector, EngineKind::acl, EngineKind::tuple,
                                         EngineKind::hypersplit, std::nullopt),
                         [](const auto& info) { return std::string(info.param ? name_of(*info.param) : "auto"); });

TEST_P(RuleEngineTest, FindsTheFirstOfRandomRules) {
  auto random = test::random_for("rule engine rules");
  for (const size_t count : {0u, 1u, 2u, 64u, 65u, 513u, 1500u}) {
    if (GetParam() == EngineKind::acl && count > 1000) continue;  // prefixes of any length: takes too long to build
    Subject subject(GetParam());
    const auto rules = random_rules(random, count);
    subject.load(rules, 1);
    subject.expect_right(keys_near(random, rules, count > 1000 ? 1000 : 3000));
  }
}

TEST_P(RuleEngineTest, FindsTheFirstOfGeneratedFilters) {
  auto random = test::random_for("rule engine filters");
  const Actions any{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  for (const char* like : {"acl", "fw", "ipc"}) {
    const auto filters = bench::generate_filters(bench::parameters_like(like), {.count = 3000, .seed = test::seed()});
    std::vector<std::string> errors;
    const auto rules = parse_rules(like, bench::to_text(filters), any, errors);
    ASSERT_EQ(rules.size(), filters.size());
    Subject subject(GetParam());
    subject.load(rules, 10);
    subject.expect_right(keys_near(random, rules, 2000));
  }
}

// Keys near the rules of the sets that `wanted` names, against a search of all rules; and their traces.
template <class Wanted>
void expect_right_in_classbench_sets(std::optional<EngineKind> engine, const Wanted& wanted) {
  auto random = test::random_for("rule engine classbench");
  int sets = 0, traces = 0;
  for (const std::string& path : classbench_files()) {
    if (!wanted(path)) continue;
    ++sets;
    const ClassBenchSet set(path);
    ASSERT_GT(set.rules.size(), 500u) << path;
    Subject subject(engine);
    subject.load(set.rules, 1);
    subject.expect_right(keys_near(random, set.rules, set.rules.size() > 2000 ? 500 : 2000));
    if (set.keys.empty()) continue;
    ASSERT_GT(set.keys.size(), 100u);
    const auto outcomes = subject.classify(set.keys, 1024);
    for (size_t i = 0; i < set.keys.size(); ++i)
      ASSERT_EQ(outcomes[i].number, set.numbers[i]) << path << ": " << text_of(set.keys[i]);
    ++traces;
  }
  EXPECT_GE(sets, 3);
  EXPECT_GE(traces, 1);
}

bool is_large(const std::string& path) { return path.ends_with("10k"); }

TEST_P(RuleEngineTest, FindsTheFirstOfClassBenchSets) {
  if (classbench_files().empty()) GTEST_SKIP() << "no filter sets in $HEDDLE_TEST_DATA";
  expect_right_in_classbench_sets(GetParam(), [](const std::string& path) { return !is_large(path); });
}

TEST_P(RuleEngineTest, FindsTheFirstOfLargeClassBenchSets) {
  if (classbench_files().empty()) GTEST_SKIP() << "no filter sets in $HEDDLE_TEST_DATA";
  if (GetParam() == EngineKind::acl) GTEST_SKIP() << "rte_acl takes too long to build them";
  expect_right_in_classbench_sets(GetParam(), is_large);
}

// Also behind other rules, so that the ends are the first and the last of many limits.
TEST_P(RuleEngineTest, FindsTheLowestAndTheHighestValueOfEveryField) {
  auto random = test::random_for("rule engine ends");
  const auto ends = rules_at_the_ends();
  std::vector<Key> keys;
  for (size_t i = 0; i < 1 << kFields; ++i) keys.push_back(ends[i].low);
  const size_t corners = keys.size();
  for (size_t k = 0; k < corners; ++k)  // beside each corner, by field
    for (size_t f = 0; f < kFields; ++f) {
      keys.push_back(keys[k]);
      keys.back()[f] = keys[k][f] == 0 ? 1 : kLargest[f] - 1;
    }
  Subject subject(GetParam());
  subject.load(ends, 1);
  const auto outcomes = subject.classify(keys, 64);
  for (size_t k = 0; k < corners; ++k) EXPECT_EQ(outcomes[k].number, k) << text_of(keys[k]);
  subject.expect_right(keys);
  for (size_t f = 0; f < kFields; ++f) {  // rules of one field alone, of which nothing else is left
    const auto first = ends.begin() + static_cast<std::ptrdiff_t>(corners + 4 * f);
    subject.load({first, first + 2}, 1);
    for (const uint32_t others : {0u, 1u, ~0u}) {
      const uint32_t most = kLargest[f], half = most / 2;
      std::vector<Key> line;
      for (const uint32_t value : {0u, 1u, half, half + 1, most - 1, most}) {
        Key key;
        for (size_t other = 0; other < kFields; ++other) key[other] = others & kLargest[other];
        key[f] = value;
        line.push_back(key);
      }
      std::vector<uint32_t> numbers;
      for (const Outcome& outcome : subject.classify(line, 64)) numbers.push_back(outcome.number);
      EXPECT_EQ(numbers, (std::vector<uint32_t>{0, kNoRule, kNoRule, kNoRule, kNoRule, 1})) << kFieldNames[f];
    }
  }
  auto many = ends;
  for (const Rule& rule : random_rules(random, 500)) many.push_back(rule);
  std::rotate(many.begin(), many.begin() + 20, many.end());
  subject.load(many, 1);
  subject.expect_right(keys);
  subject.expect_right(keys_near(random, ends, 500));
}

TEST_P(RuleEngineTest, FindsTheFirstOfRulesThatOverlapCompletely) {
  auto random = test::random_for("rule engine overlap");
  const std::vector<Rule> same(700, random_rules(random, 1)[0]);
  Subject subject(GetParam());
  subject.load(same, 3);
  subject.expect_right(keys_near(random, same, 300));
  const auto nested = nested_rules(600);
  subject.load(nested, 1);
  subject.expect_right(keys_near(random, nested, 1000));
}

TEST_P(RuleEngineTest, FollowsChangesInAnyOrder) {
  auto random = test::random_for("rule engine changes");
  const bool slow = GetParam() == EngineKind::acl;  // it builds everything anew
  const auto pool = random_rules(random, 3000);
  Subject subject(GetParam());
  subject.load({pool.begin(), pool.begin() + (slow ? 100 : 500)}, 7);
  for (int round = 0; round < (slow ? 40 : 400); ++round) {
    std::map<uint32_t, std::optional<Rule>> changes;
    for (uint32_t count = random() % 8 + (round % 50 == 0 ? 200 : 0); count > 0; --count) {
      const auto number = static_cast<uint32_t>(random() % 4000);
      if (random() % 2 == 0)
        changes[number] = pool[random() % pool.size()];
      else if (const auto at = subject.wanted.lower_bound(number); at != subject.wanted.end())
        changes[at->first] = std::nullopt;
    }
    std::vector<RuleChange> list;
    for (const auto& [number, rule] : changes) list.push_back({number, rule});
    subject.change(list);
    if (round % 4 != 3) subject.reclaim();  // else several changes wait for it together
    subject.expect_right(keys_near(random, subject.rules(), 100));
  }
  subject.expect_right(keys_near(random, subject.rules(), 3000));
  std::vector<RuleChange> all;
  for (const auto& [number, rule] : subject.wanted) all.push_back({number, std::nullopt});
  subject.change(all);
  subject.expect_right(keys_near(random, {}, 100));
  subject.reclaim();
  subject.reclaim();
  subject.change({{5, pool[0]}, {kNoRule - 1, pool[1]}});
  subject.expect_right(keys_near(random, subject.rules(), 100));
}

TEST_P(RuleEngineTest, ReplacesTheSet) {
  auto random = test::random_for("rule engine replaced");
  Subject subject(GetParam());
  for (const size_t count : {300u, 1000u, 0u, 20u}) {
    const auto rules = random_rules(random, count);
    subject.load(rules, 2);
    subject.expect_right(keys_near(random, rules, 500));
    subject.change({{1, rules.empty() ? Rule{} : rules[0]}});
    subject.reclaim();
    subject.expect_right(keys_near(random, rules, 500));
  }
}

// What keys hit is known for each state of the set. Whoever looks them up while it changes finds what they hit in one
// of the states that there were meanwhile.
TEST_P(RuleEngineTest, AnswersByOneStateOfTheSetWhileItChanges) {
  constexpr size_t kKeys = 32, kReaders = 2;
  auto random = test::random_for("rule engine traffic");
  const size_t states = GetParam() == EngineKind::acl ? 30 : test::kSanitized ? 600 : 3000;
  const auto pool = random_rules(random, 400);
  const auto keys = keys_near(random, pool, kKeys);
  std::map<uint32_t, Rule> wanted;
  for (uint32_t i = 0; i < 200; ++i) wanted[2 * i] = pool[i];
  std::vector<std::vector<RuleChange>> changes(1);
  std::vector<std::array<uint32_t, kKeys>> numbers;  // that keys hit, by state
  const auto note = [&] {
    auto& now = numbers.emplace_back();
    for (size_t k = 0; k < kKeys; ++k) {
      const auto hit =
          std::ranges::find_if(wanted, [&](const auto& rule) { return first_match({rule.second}, keys[k]) == 0; });
      now[k] = hit == wanted.end() ? kNoRule : hit->first;
    }
  };
  note();
  while (numbers.size() < states) {
    std::map<uint32_t, std::optional<Rule>> next;
    for (size_t count = 1 + random() % 3; count > 0; --count) {
      const auto number = static_cast<uint32_t>(random() % 400);
      if (random() % 3 != 0) next[number] = pool[random() % pool.size()];
      if (random() % 3 == 0) next[wanted.begin()->first] = std::nullopt;
    }
    changes.emplace_back();
    for (const auto& [number, rule] : next) {
      if (!rule && !wanted.contains(number)) continue;
      changes.back().push_back({number, rule});
      wanted.erase(number);
      if (rule) wanted[number] = *rule;
    }
    note();
  }

  Subject subject(GetParam());
  subject.set.load(std::vector<Rule>(pool.begin(), pool.begin() + 200), 2, *subject.engine);
  subject.engine->start();
  std::atomic<size_t> begun{0}, made{0}, wrong{0};
  std::atomic<bool> ended{false};
  std::vector<std::atomic<uint64_t>> calls(kReaders);
  std::vector<std::thread> readers;
  for (std::atomic<uint64_t>& mine : calls)
    readers.emplace_back([&] {
      while (!ended) {
        const size_t first = made;
        const auto outcomes = subject.classify(keys, kKeys);
        const size_t last = begun;
        const bool right = std::any_of(&numbers[first], &numbers[last] + 1, [&](const auto& state) {
          return std::ranges::equal(outcomes, state, {}, &Outcome::number);
        });
        wrong += right ? 0 : 1;
        ++mine;
      }
    });
  for (size_t state = 1; state < states; ++state) {
    begun = state;
    subject.set.change(changes[state], *subject.engine);
    made = state;
    const bool has_retired = subject.engine->has_retired() || subject.set.has_retired();
    if (state % 64 != 0 && !has_retired) continue;
    wait_for_readers(calls);
    subject.reclaim();
  }
  wait_for_readers(calls);
  ended = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
}

class ImageEngineTest : public testing::TestWithParam<EngineKind> {};
INSTANTIATE_TEST_SUITE_P(All, ImageEngineTest, testing::Values(EngineKind::bitvector, EngineKind::hypersplit),
                         [](const auto& info) { return std::string(name_of(info.param)); });

const ImageEngine& image_engine(const Subject& subject) { return dynamic_cast<const ImageEngine&>(*subject.engine); }

TEST_P(ImageEngineTest, IsBuiltAnewAsideWhileItChanges) {
  auto random = test::random_for("image engine rebuilt");
  const auto pool = random_rules(random, 4000);
  Subject subject(GetParam());
  subject.load({pool.begin(), pool.begin() + 2000}, 1);
  size_t rebuilt = 0;
  for (uint32_t round = 0; round < 2000 || (rebuilt < 3 && round < 20'000); ++round) {
    const uint32_t before = image_engine(subject).listed();
    const auto number = static_cast<uint32_t>(random() % 2000);
    subject.change({{number, round % 3 == 2 ? std::nullopt : std::optional(pool[random() % pool.size()])}});
    subject.reclaim();
    EXPECT_LE(image_engine(subject).listed(), 2000u);
    if (image_engine(subject).listed() < before)
      ++rebuilt, subject.expect_right(keys_near(random, subject.rules(), 200));
    if (round % 50 == 0) subject.expect_right(keys_near(random, subject.rules(), 100));
  }
  EXPECT_GE(rebuilt, 3u);
  subject.expect_right(keys_near(random, subject.rules(), 1000));
  subject.load({pool.begin(), pool.begin() + 10}, 1);  // while it is built anew, or not
  subject.expect_right(keys_near(random, subject.rules(), 1000));
}

TEST_P(ImageEngineTest, FindsWhatARuleHasHidden) {
  auto random = test::random_for("image engine hidden");
  const Rule one = random_rules(random, 1)[0];
  for (const size_t count : {300u, kMaxListed + 900u}) {
    Subject subject(GetParam());
    subject.load(std::vector<Rule>(count, one), 1);
    std::vector<uint32_t> order(200);
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin() + 10, order.end(), random);
    for (const uint32_t number : order) {
      subject.change({{number, std::nullopt}});
      if (number % 10 == 0) subject.reclaim();
      subject.expect_right(keys_near(random, {one}, 5));
    }
  }
  auto nested = nested_rules(600);  // the last takes everything
  std::ranges::reverse(nested);
  Subject subject(GetParam());
  subject.load(nested, 1);
  for (uint32_t number = 0; number < nested.size(); number += 1 + random() % 3) {
    subject.change({{number, std::nullopt}});
    subject.expect_right(keys_near(random, nested, 20));
  }
}

// The thread that builds all anew fails. The list goes on until it is full.
TEST_P(ImageEngineTest, SaysWhyItCannotBeBuiltAnew) {
  auto random = test::random_for("image engine full");
  const auto pool = random_rules(random, 20'000);
  const std::vector<Rule> few(pool.begin(), pool.begin() + 100);
  Subject subject(GetParam(), size_t{1} << 20);
  subject.load(few, 1);
  uint32_t number = 100;
  std::string refused;
  for (; refused.empty() && number < pool.size(); ++number) try {
      subject.change({{number, pool[number]}});
      subject.reclaim();
      if (number % 500 == 0) subject.expect_right(keys_near(random, subject.rules(), 50));
    } catch (const Error& error) {
      refused = error.what();
    }
  EXPECT_TRUE(refused.ends_with(" MB, and MEMORY allows 1 MB")) << refused;
  EXPECT_GT(number, 100 + kFewestListed);
  subject.expect_right(keys_near(random, subject.rules(), 200));
  std::vector<RuleChange> all;
  for (const auto& [one, rule] : subject.wanted)
    if (one >= 100) all.push_back({one, std::nullopt});
  subject.change(all);
  subject.change({{7, pool[500]}});
  subject.expect_right(keys_near(random, subject.rules(), 200));
}

TEST_P(ImageEngineTest, EndsWhileItIsBuiltAnew) {
  auto random = test::random_for("image engine ends");
  const auto rules = random_rules(random, 3000);
  Subject subject(GetParam());
  subject.load(rules, 1);
  for (uint32_t i = 0; i < kRebuiltAt; ++i) subject.change({{i, rules[i + 1]}});
  EXPECT_TRUE(image_engine(subject).rebuilds());
}

TEST(BitVectors, AreFoundByEverySearch) {
  auto random = test::random_for("rule engine searches");
  for (const SearchForm form : {SearchForm::packed, SearchForm::plain, SearchForm::binary}) {
    Subject subject(EngineKind::bitvector, form);
    for (const size_t count : {0u, 1u, 30u, 2000u}) {
      auto rules = random_rules(random, count);
      for (Rule& rule : rules) {  // all limits of a byte
        rule.low[kProtocol] = random() % 256;
        rule.high[kProtocol] = rule.low[kProtocol] + random() % (256 - rule.low[kProtocol]);
      }
      subject.load(rules, 1);
      subject.expect_right(keys_near(random, rules, 2000));
    }
  }
}

std::string name_of_simd(const testing::TestParamInfo<Simd>& info) {
  return info.param == Simd::avx512 ? "avx512" : info.param == Simd::avx2 ? "avx2" : "portable";
}
class EveryInstructionSet : public testing::TestWithParam<Simd> {};
INSTANTIATE_TEST_SUITE_P(All, EveryInstructionSet, testing::ValuesIn(simds().begin(), simds().end()), name_of_simd);

// Limits of 8, 16 and 32 bits on several levels, nodes and chains, the ends of fields; and rules that are listed
// beside.
TEST_P(EveryInstructionSet, FindsTheFirstRule) {
  auto random = test::random_for("rule engine instructions");
  auto rules = random_rules(random, 1000);
  for (Rule& rule : rules) {  // all limits of a byte
    rule.low[kProtocol] = random() % 256;
    rule.high[kProtocol] = rule.low[kProtocol] + random() % (256 - rule.low[kProtocol]);
  }
  const auto ends = rules_at_the_ends();
  rules.insert(rules.end(), ends.begin(), ends.end());
  std::vector<RuleChange> changes;  // rules that take the place of others, that come between them, and that go
  for (uint32_t i = 0; i < kRebuiltAt - 1; ++i) {
    changes.push_back({30 * i + i % 2, rules[random() % rules.size()]});
    if (i % 6 == 0) changes.back().rule.reset();
  }
  using enum EngineKind;
  constexpr std::pair<EngineKind, SearchForm> kEngines[] = {{bitvector, SearchForm::packed},
                                                            {bitvector, SearchForm::plain},
                                                            {bitvector, SearchForm::binary},
                                                            {tuple, SearchForm::packed},
                                                            {hypersplit, SearchForm::packed}};
  for (const auto& [kind, form] : kEngines) {
    SCOPED_TRACE(name_of(kind));
    Subject subject(kind, form, GetParam());
    subject.load(rules, 2);
    for (const bool changed : {false, true}) {
      if (changed) subject.change(changes);
      subject.expect_right(keys_near(random, subject.rules(), 2000));
      subject.expect_right(keys_near(random, ends, 500));
    }
  }
}

TEST(TupleEngine, GrowsFromNothingWhileRulesComeOneByOne) {
  auto random = test::random_for("rule engine growth");
  const auto rules = random_rules(random, 6000);
  Subject subject(EngineKind::tuple);
  subject.load({}, 1);
  for (uint32_t i = 0; i < rules.size(); ++i) {
    subject.change({{(i * 2654435761u) % 100'003, rules[i]}});
    if (subject.engine->has_retired()) subject.reclaim();
  }
  subject.expect_right(keys_near(random, rules, 3000));
}

/** So many filters as ClassBench makes them, and changes of them as well. `like`: a set that the engine has room
 *  for. */
void expect_half_a_million(EngineKind kind, const char* like) {
  constexpr size_t kFilters = test::kSanitized ? 50'000 : 500'000;
  auto random = test::random_for("half a million filters");
  const Actions any{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  const auto filters = bench::generate_filters(bench::parameters_like(like), {.count = kFilters, .seed = test::seed()});
  std::vector<std::string> errors;
  const auto rules = parse_rules(like, bench::to_text(filters), any, errors);
  ASSERT_EQ(rules.size(), kFilters);
  Subject subject(kind);
  subject.load(rules, 4);
  const auto keys = keys_near(random, rules, 150);
  subject.expect_right(keys);
  for (int round = 0; round < 4; ++round) {
    std::map<uint32_t, std::optional<Rule>> changes;
    for (const auto& rule : random_rules(random, 100)) changes[static_cast<uint32_t>(random() % (4 * kFilters))] = rule;
    for (int i = 0; i < 500; ++i) changes[static_cast<uint32_t>(random() % kFilters * 4)] = std::nullopt;
    std::vector<RuleChange> list;
    for (const auto& [number, rule] : changes) list.push_back({number, rule});
    subject.change(list);
    if (round % 2 == 0) subject.reclaim();
  }
  subject.expect_right(keys);
}

TEST(TupleEngine, HoldsHalfAMillionFilters) { expect_half_a_million(EngineKind::tuple, "fw"); }
TEST(TreeEngine, HoldsHalfAMillionFilters) { expect_half_a_million(EngineKind::hypersplit, "acl"); }

/** Has a packet for each rule at once. */
class BusyEngine : public RuleEngine {
 public:
  explicit BusyEngine(Hits& hits) : hits_(hits) {}
  void load(std::span<const SetRule> rules) override {
    for (const SetRule& rule : rules) hits_.add(0, rule.id);
  }
  void change(std::span<const SetRule> added, std::span<const uint32_t>, const RuleSet&) override { load(added); }
  void classify(const uint32_t* const*, Outcome*, int) const override {}
  size_t bytes() const override { return 0; }
  bool has_retired() const override { return false; }
  void reclaim() override {}

 private:
  Hits& hits_;
};

TEST(Hits, GoOverAndComeBack) {
  Hits before, behind;
  for (Hits* one : {&before, &behind}) one->start(1);
  for (int i = 0; i < 5; ++i) before.add(0, 3);
  for (int i = 0; i < 2; ++i) behind.add(0, 9);
  behind.take(9, before, 3);
  EXPECT_EQ(behind[9], 7u);
  EXPECT_EQ(before[3], 0u);
  behind.add(0, 9);
  before.take(3, behind, 9);
  before.add(0, 3);
  EXPECT_EQ(before[3], 9u);
  EXPECT_EQ(behind[9], 0u);
  behind.reset(9), behind.add(0, 9);
  EXPECT_EQ(behind[9], 1u);
}

TEST(RuleSet, HitsCountFromTheFirstPacket) {
  Hits hits;
  hits.start(1);
  BusyEngine engine(hits);
  RuleSet set;
  set.on_new_id = [&](uint32_t id) { hits.reset(id); };
  set.load(std::vector<Rule>(3), 1, engine);
  for (uint32_t round = 0; round < 4; ++round) {  // ids are used again after two calls of reclaim()
    set.change(std::vector<RuleChange>{{1, Rule{}}}, engine);
    EXPECT_EQ(hits[set.find(1)->id], 1u) << "round " << round;
    set.reclaim();
  }
  set.load(std::vector<Rule>(3), 1, engine);
  for (const uint32_t number : {0u, 1u, 2u}) EXPECT_EQ(hits[set.find(number)->id], 1u);
}

TEST(RuleEngines, RefuseWhatDoesNotFitWithTheSizeThatItNeeds) {
  auto random = test::random_for("rule engine size");
  for (const EngineKind kind : {EngineKind::bitvector, EngineKind::tuple, EngineKind::hypersplit}) {
    Subject subject(kind, size_t{1} << 20);
    const auto few = random_rules(random, 100);
    subject.load(few, 1);
    try {
      subject.set.load(random_rules(random, 30000), 1, *subject.engine);
      FAIL() << "it fitted";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with("30000 rules need ")) << text;
      EXPECT_TRUE(text.ends_with(" MB, and MEMORY allows 1 MB")) << text;
    }
    subject.expect_right(keys_near(random, few, 500));
    subject.change({{3, std::nullopt}});
    subject.expect_right(keys_near(random, few, 500));
  }
}

}  // namespace
}  // namespace heddle::classifier
