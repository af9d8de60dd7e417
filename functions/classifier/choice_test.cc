// ENGINE auto: what it takes, why, and when it takes something else.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

#include "core/error.h"
#include "functions/classifier/auto_engine.h"
#include "functions/classifier/engine_for_test.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/rule_set.h"
#include "functions/classifier/table.h"
#include "measure/generate/filter_set.h"
#include "tests/support/frames.h"

namespace heddle::classifier {
namespace {

std::vector<Rule> generated_rules(const char* like, size_t count) {
  const Actions any{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  std::vector<std::string> errors;
  const auto filters = bench::generate_filters(bench::parameters_like(like), {.count = count, .seed = 1});
  return parse_rules(like, bench::to_text(filters), any, errors);
}

/** The rates that a choice is explained with. */
struct Rate {
  double mpps, change_ms;
};
std::map<EngineKind, Rate> rates_of(const std::string& why) {
  std::map<EngineKind, Rate> rates;
  for (const EngineKind kind : {EngineKind::bitvector, EngineKind::tuple, EngineKind::hypersplit}) {
    const std::string name = " " + std::string(name_of(kind)) + " ";
    const size_t at = why.find(name);
    Rate rate{};
    if (at != std::string::npos &&
        std::sscanf(why.c_str() + at + name.size(), "%lf million a second and %lf ms a change", &rate.mpps,
                    &rate.change_ms) == 2)
      rates[kind] = rate;
  }
  return rates;
}

TEST(RuleEngines, AreChosenByTheRatesThatTheySay) {
  auto random = test::random_for("engine choice");
  const RuleEngine::Limits limits{kNoMatch, size_t{1} << 30, {}};
  for (const size_t count : {65u, 1000u, 4000u}) {
    const auto rules = random_rules(random, count);
    std::vector<SetRule> set;
    for (const Rule& rule : rules) set.push_back({static_cast<uint32_t>(set.size()) * 3, kNoId, rule});
    const EngineChoice choice = choose_engine(set, limits);
    const auto rates = rates_of(choice.why);
    ASSERT_GE(rates.size(), 2u) << choice.why;
    for (auto& [kind, rate] : rates) {
      EXPECT_GT(rate.mpps, 0.001) << choice.why;
      EXPECT_GE(rates.at(choice.kind).mpps, 0.94 * rate.mpps) << choice.why;
    }
    EXPECT_EQ(choose_engine(set, {kNoMatch, 1000, {}}).kind, EngineKind::tuple);
    EngineChoice for_gpu;
    EXPECT_NE(make_gpu_engine(set, limits, for_gpu)->table(), nullptr);
    EXPECT_EQ(for_gpu.kind, EngineKind::bitvector);
  }
}

TEST(RuleEngines, TreesAreTriedAsWell) {
  for (const char* like : {"acl", "fw"})
    for (const size_t count : {20u, 1000u}) {
      const EngineChoice choice =
          choose_engine(numbered(generated_rules(like, count)), {kNoMatch, size_t{1} << 30, {}});
      const auto rates = rates_of(choice.why);
      ASSERT_EQ(rates.size(), 3u) << choice.why;
      for (auto& [kind, rate] : rates) EXPECT_GE(rates.at(choice.kind).mpps, 0.94 * rate.mpps) << choice.why;
    }
}

TEST(RuleEngines, AreChosenByTheChangesThatTheyKeepUpWith) {
  auto random = test::random_for("engine changes");
  const auto set = numbered(random_rules(random, 3000));
  RuleEngine::Limits limits{kNoMatch, size_t{1} << 30, {}};
  limits.changes = 100'000;
  const EngineChoice choice = choose_engine(set, limits);
  EXPECT_EQ(choice.kind, EngineKind::tuple);
  const auto rates = rates_of(choice.why);
  for (auto& [kind, rate] : rates) {
    if (kind != EngineKind::tuple) {
      EXPECT_LT(rates.at(EngineKind::tuple).change_ms, rate.change_ms) << choice.why;
    }
  }
  EngineChoice for_gpu;
  EXPECT_THROW(make_gpu_engine(set, limits, for_gpu), Error);
}

// rte_acl is taken if and only if it is faster by what it says.
TEST(RuleEngines, AclIsTakenWhereItIsFaster) {
  RuleEngine::Limits limits{kNoMatch, size_t{1} << 30, {}};
  for (const EngineKind other : {EngineKind::bitvector, EngineKind::tuple})
    for (const size_t count : {100u, 1000u}) {
      const auto set = numbered(generated_rules("acl", count));
      const auto than = make_engine(other, limits);
      RuleSet rules;
      rules.load(set, *than);
      EngineChoice choice{other, "before"};
      const auto acl = faster_acl(set, limits, *than, choice);
      double rate = 0, ms = 0, beside = 0;
      const size_t at = choice.why.find("; acl ");
      ASSERT_NE(at, std::string::npos) << choice.why;
      ASSERT_EQ(std::sscanf(choice.why.c_str() + at, "; acl %lf million a second and %lf ms a change, beside %lf",
                            &rate, &ms, &beside),
                3)
          << choice.why;
      EXPECT_EQ(choice.kind, acl != nullptr ? EngineKind::acl : other);
      if (acl != nullptr) {
        EXPECT_GE(rate, 1.04 * beside) << choice.why;
      } else {
        EXPECT_LE(rate, 1.07 * beside) << choice.why;
      }
    }
  const auto set = numbered(generated_rules("acl", 500));
  const auto than = make_engine(EngineKind::tuple, limits);
  limits.changes = 1'000'000;
  EngineChoice choice{EngineKind::tuple, "before"};
  EXPECT_EQ(faster_acl(set, limits, *than, choice), nullptr) << choice.why;
  EXPECT_EQ(choice.kind, EngineKind::tuple);
  choice.why.clear();
  EXPECT_EQ(faster_acl({}, limits, *than, choice), nullptr);
  EXPECT_NE(choice.why.find("no acl: 0 rules"), std::string::npos) << choice.why;
  // An address that is no prefix: rte_acl does not take it.
  choice.why.clear();
  auto odd = set;
  odd[3].rule.low[kSource] = 1, odd[3].rule.high[kSource] = 6;
  EXPECT_EQ(faster_acl(odd, limits, *than, choice), nullptr);
  EXPECT_NE(choice.why.find("is no prefix"), std::string::npos) << choice.why;
}

/** An AutoEngine for which a change takes `took` seconds by its clock. */
struct AutoSubject : Subject {
  AutoSubject() : Subject(EngineKind::bitvector) {
    const auto clock = [this] {
      ++calls;
      return time += calls % 2 == 1 ? idle : took;  // before and behind what takes time
    };
    const auto choose = [](auto, auto&) { return EngineChoice{EngineKind::bitvector, "test"}; };
    auto made = std::make_unique<AutoEngine>(RuleEngine::Limits{kNoMatch, size_t{1} << 30, {}}, clock, choose);
    automatic = made.get();
    engine = std::move(made);
  }
  int calls = 0;
  double time = 0, took = 0, idle = 0;
  AutoEngine* automatic;
};

TEST(AutoEngine, TakesHashTablesWhenChangesComeTooFast) {
  auto random = test::random_for("auto engine");
  const auto rules = random_rules(random, 300);
  for (const bool fast : {false, true}) {
    SCOPED_TRACE(fast);
    AutoSubject subject;
    subject.took = 0.1, subject.idle = fast ? 0.05 : 0.2;
    subject.load(std::vector<Rule>(rules.begin(), rules.begin() + 50), 1);
    ASSERT_EQ(subject.automatic->choice().kind, EngineKind::bitvector);
    for (uint32_t round = 0; round < 60; ++round) {
      subject.change({{round % 40, rules[100 + round]}});
      if (round % 3 == 0) subject.reclaim();
      subject.expect_right(keys_near(random, subject.rules(), 60));
    }
    EXPECT_EQ(subject.automatic->choice().kind, fast ? EngineKind::tuple : EngineKind::bitvector);
    EXPECT_EQ(
        subject.automatic->choice().why.find("for bitvector would take 100.0 ms to be built anew") != std::string::npos,
        fast)
        << subject.automatic->choice().why;
    subject.load(std::vector<Rule>(rules.begin(), rules.begin() + 9), 5);  // chooses anew
    EXPECT_EQ(subject.automatic->choice().kind, EngineKind::bitvector);
    subject.expect_right(keys_near(random, subject.rules(), 200));
  }
}

TEST(AutoEngine, AFewChangesAreNoRateButWhatTakesLongIsNotWaitedFor) {
  auto random = test::random_for("auto engine, few changes");
  const auto rules = random_rules(random, 20);
  for (const double took : {0.1, 0.6}) {
    AutoSubject subject;
    subject.took = took;
    subject.load(rules, 1);
    for (uint32_t round = 0; round < 4; ++round) subject.change({{round, rules[10 + round]}});
    EXPECT_EQ(subject.automatic->choice().kind, took < 0.5 ? EngineKind::bitvector : EngineKind::tuple);
    subject.expect_right(keys_near(random, subject.rules(), 200));
  }
}

/** The number before " MB" behind `what`. */
double megabytes(const std::string& text, const std::string& what) {
  const size_t at = text.find(what);
  return at == std::string::npos ? 0 : std::stod(text.substr(at + what.size()));
}

TEST(RuleEngines, SayAboutHowLargeATreeWouldBe) {
  for (const char* like : {"acl", "fw", "ipc"}) {
    SCOPED_TRACE(like);
    const auto set = numbered(generated_rules(like, 4000));
    const auto whole = make_engine(EngineKind::hypersplit, {kNoMatch, size_t{4} << 30, {}});
    whole->load(set);
    const double needed = static_cast<double>(whole->bytes()) / (1 << 20);
    try {
      make_engine(EngineKind::hypersplit, {kNoMatch, whole->bytes() / 4 * 3, {}})->load(set);
      FAIL() << "it fitted";
    } catch (const Error& error) {
      const double said = megabytes(error.what(), "by what has been built about ");
      EXPECT_GT(said, needed / 4) << error.what() << ", needed " << needed;
      EXPECT_LT(said, needed * 4) << error.what() << ", needed " << needed;
    }
  }
}

}  // namespace
}  // namespace heddle::classifier
