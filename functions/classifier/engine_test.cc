// Every engine against a search of all rules: sets of all kinds, changes in random order, sets replaced.

#include "functions/classifier/engine.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "functions/classifier/engine_for_test.h"
#include "functions/classifier/hits.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/tuple_engine.h"
#include "measure/generate/filter_set.h"
#include "tests/support/frames.h"
#include "tests/support/sanitizer.h"

namespace heddle::classifier {
namespace {

class RuleEngineTest : public testing::TestWithParam<EngineKind> {};
INSTANTIATE_TEST_SUITE_P(All, RuleEngineTest,
                         testing::Values(EngineKind::bitvector, EngineKind::acl, EngineKind::tuple,
                                         EngineKind::hypersplit),
                         [](const auto& info) { return std::string(name_of(info.param)); });

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

TEST_P(RuleEngineTest, FindsTheFirstOfRulesThatOverlapCompletely) {
  auto random = test::random_for("rule engine overlap");
  const std::vector<Rule> same(700, random_rules(random, 1)[0]);
  Subject subject(GetParam());
  subject.load(same, 3);
  subject.expect_right(keys_near(random, same, 300));
  std::vector<Rule> nested(600);  // each within the next
  for (uint32_t i = 0; i < nested.size(); ++i)
    for (const Field f : {kSourcePort, kDestinationPort}) {
      nested[i].low[f] = 30000 - i * 50;
      nested[i].high[f] = 30000 + i * 50;
    }
  subject.load(nested, 1);
  subject.expect_right(keys_near(random, nested, 1000));
}

TEST_P(RuleEngineTest, FollowsChangesInAnyOrder) {
  auto random = test::random_for("rule engine changes");
  const bool slow = GetParam() != EngineKind::tuple;  // these build everything anew
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

// Changes of a large set as well, whose tables were made for it.
TEST(TupleEngine, HoldsHalfAMillionFilters) {
  constexpr size_t kFilters = test::kSanitized ? 50'000 : 500'000;
  auto random = test::random_for("half a million filters");
  const Actions any{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  const auto filters = bench::generate_filters(bench::parameters_like("fw"), {.count = kFilters, .seed = test::seed()});
  std::vector<std::string> errors;
  const auto rules = parse_rules("fw", bench::to_text(filters), any, errors);
  ASSERT_EQ(rules.size(), kFilters);
  Subject subject(EngineKind::tuple);
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
