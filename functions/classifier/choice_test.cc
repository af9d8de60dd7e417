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
#include "io/dpdk/dpdk.h"
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

/** Hash tables or bit vectors of a GPU, by rates that depend on the machine and on what instruments the program. */
void expect_by_rates(const EngineChoice& choice) {
  double tuple = 0, bitvector = 0;
  const size_t at = choice.why.find("on the CPU tuple ");
  ASSERT_NE(at, std::string::npos) << choice.why;
  ASSERT_EQ(std::sscanf(choice.why.c_str() + at, "on the CPU tuple %lf and bitvector %lf", &tuple, &bitvector), 2);
  if (std::abs(bitvector - kVectorsLead * tuple) > 0.02 * bitvector) {  // which is more than is rounded
    EXPECT_EQ(choice.kind, bitvector > kVectorsLead * tuple ? EngineKind::bitvector : EngineKind::tuple) << choice.why;
  }
}

TEST(RuleEngines, AreChosenByTheRatesThatTheySay) {
  auto random = test::random_for("engine choice");
  const RuleEngine::Limits limits{kNoMatch, size_t{1} << 30, {}};
  for (const size_t count : {65u, 1000u, 4000u}) {
    const auto rules = random_rules(random, count);
    std::vector<SetRule> set;
    for (const Rule& rule : rules)
      set.push_back({static_cast<uint32_t>(set.size()) * 3, static_cast<uint32_t>(set.size()), rule});
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
    const bool slow = for_gpu.why.find(" s to be built") != std::string::npos;  // the tree, on a busy machine
    if (slow)
      expect_by_rates(for_gpu);
    else
      EXPECT_EQ(for_gpu.kind, EngineKind::hypersplit) << for_gpu.why;
  }
}

// A GPU gets bit vectors where a tree outgrows what it may have, and packets have much to compare in hash tables.
TEST(RuleEngines, AGpuGetsBitVectorsWhereTablesAreSlow) {
  auto random = test::random_for("large trees");
  std::vector<SetRule> set;
  for (uint32_t i = 0; i < 400; ++i) {
    Rule rule;
    for (size_t f = 0; f < kFields; ++f) {  // most of what there is, in each field
      rule.low[f] = random() % (kLargest[f] / 4 + 1), rule.high[f] = kLargest[f] - random() % (kLargest[f] / 4 + 1);
    }
    set.push_back({i, i, rule});
  }
  EngineChoice choice;
  EXPECT_NE(make_gpu_engine(set, {kNoMatch, size_t{1} << 20, {}}, choice)->table(), nullptr);
  expect_by_rates(choice);
  EXPECT_NE(choice.why.find("; no tree: "), std::string::npos) << choice.why;
}

// And hash tables where bit vectors do not fit either.
TEST(RuleEngines, AGpuGetsHashTablesWhereNothingElseFits) {
  auto random = test::random_for("hash tables for a GPU");
  const auto rules = random_rules(random, 3000);
  RuleEngine::Limits limits{kNoMatch, size_t{2} << 20, {}};
  EngineChoice choice;
  const auto engine = make_gpu_engine(numbered(rules), limits, choice);
  EXPECT_EQ(choice.kind, EngineKind::tuple) << choice.why;
  EXPECT_EQ(choice.why.find("3000 rules need bit vectors of "), 0u) << choice.why;
  EXPECT_NE(choice.why.find("; 3000 rules take "), std::string::npos) << choice.why;
  EXPECT_NE(choice.why.find("; no tree: "), std::string::npos) << choice.why;
  ASSERT_NE(engine->table(), nullptr);
  for (const Key& key : keys_near(random, rules, 300)) {
    const uint32_t* const fields[kFields] = {&key[0], &key[1], &key[2], &key[3], &key[4]};
    Outcome outcome;
    engine->classify(fields, &outcome, 1);
    ASSERT_EQ(outcome.number, first_match(rules, key)) << text_of(key);
  }
  limits.most_bytes = size_t{1} << 16;
  try {
    make_gpu_engine(numbered(rules), limits, choice);
    FAIL() << "it fitted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("; 3000 rules need hash tables of "), std::string::npos) << error.what();
  }
}

// And where bit vectors would fit, but there is more in them to read.
TEST(RuleEngines, AGpuGetsHashTablesOfAFirewallWhoseTreeIsLarge) {
  EngineChoice choice;
  const auto set = numbered(generated_rules("fw", 4000));
  EXPECT_NE(make_gpu_engine(set, {kNoMatch, size_t{4} << 20, {}}, choice)->table(), nullptr);
  expect_by_rates(choice);
  EXPECT_NE(choice.why.find("; no tree: 4000 rules need a tree of more than 4 MB"), std::string::npos) << choice.why;
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

// Rules that differ in ports alone are one chain of a hash table, which rte_acl beats many times over.
TEST(AutoEngine, TakesAclWherePortsOfDpdkAreWantedAndChangesItAside) {
  const RuleEngine::Limits limits{kNoMatch, size_t{1} << 30, {}};
  make_engine(EngineKind::acl, limits)->start();  // DPDK
  dpdk::request_port("net_null0");
  auto random = test::random_for("auto engine, acl");
  std::vector<Rule> rules(600);
  for (Rule& rule : rules) {
    rule.low[kProtocol] = rule.high[kProtocol] = 6;
    for (const Field f : {kSourcePort, kDestinationPort}) {
      rule.low[f] = random() % 65000;
      rule.high[f] = rule.low[f] + random() % 500;
    }
  }
  const auto tables = [](auto, auto&) { return EngineChoice{EngineKind::tuple, "test"}; };
  Subject subject(EngineKind::tuple);
  auto made = std::make_unique<AutoEngine>(
      limits, [] { return 0.0; }, tables);
  const AutoEngine& automatic = *made;
  subject.engine = std::move(made);
  for (int round = 0; round < 2; ++round) {
    subject.load(rules, 2);
    EXPECT_EQ(automatic.choice().kind, EngineKind::acl) << automatic.choice().why;
    EXPECT_NE(automatic.choice().why.find("; changes go to hash tables"), std::string::npos) << automatic.choice().why;
    subject.expect_right(keys_near(random, rules, 500));
    for (uint32_t change = 0; change < 20; ++change) {
      subject.change({{2 * change + change % 2, rules[100 + change]}});
      if (change % 3 == 0) subject.reclaim();
      subject.expect_right(keys_near(random, subject.rules(), 100));
    }
    EXPECT_EQ(automatic.choice().kind, EngineKind::acl) << automatic.choice().why;
  }
  subject.engine.reset();
  dpdk::close_ports();
}

/** The number before " MB" behind `what`. */
double megabytes(const std::string& text, const std::string& what) {
  const size_t at = text.find(what);
  return at == std::string::npos ? 0 : std::stod(text.substr(at + what.size()));
}

/** Of a build that nobody wants any more, the set stays as it is. */
TEST(RuleEngines, EndTheirBuildWhenItIsUnwanted) {
  auto random = test::random_for("unwanted builds");
  const std::vector<Rule> few = random_rules(random, 20), many = random_rules(random, 3000);
  for (const std::optional<EngineKind> kind :
       {std::optional<EngineKind>(), std::optional(EngineKind::bitvector), std::optional(EngineKind::hypersplit)}) {
    RuleEngine::Limits limits{0, size_t{1} << 30};
    auto engine = kind ? make_engine(*kind, limits) : std::make_unique<AutoEngine>(limits);
    RuleSet set;
    set.load(few, 1, *engine);
    int calls = 0;
    *limits.check_wanted = [&] {
      if (++calls == 10) throw Unwanted("it is late");
    };
    EXPECT_THROW(set.load(many, 1, *engine), Unwanted);
    EXPECT_EQ(calls, 10);
    EXPECT_EQ(set.size(), few.size());
    set.load(many, 1, *engine);
    EXPECT_EQ(set.size(), many.size());
  }
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
