// The classifier's table and its lookups on the CPU against a search of all rules.

#include "functions/classifier/table.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/text_file.h"
#include "functions/classifier/oracle_for_test.h"
#include "functions/classifier/rule_file.h"
#include "measure/generate/filter_set.h"
#include "tests/support/frames.h"

namespace heddle::classifier {
namespace {

constexpr size_t kMax = size_t{1} << 30;

// The rules that bulk lookups find, all keys at once and in pieces that leave groups part full.
std::vector<uint32_t> found(const BitVectorTable& table, const std::vector<Key>& keys, int piece) {
  std::vector<uint32_t> fields[kFields], rules(keys.size(), 12345);
  for (size_t f = 0; f < kFields; ++f)
    for (const Key& key : keys) fields[f].push_back(key[f]);
  for (int at = 0; at < static_cast<int>(keys.size()); at += piece) {
    const uint32_t* const columns[kFields] = {&fields[0][static_cast<size_t>(at)], &fields[1][static_cast<size_t>(at)],
                                              &fields[2][static_cast<size_t>(at)], &fields[3][static_cast<size_t>(at)],
                                              &fields[4][static_cast<size_t>(at)]};
    lookup_bulk(table.image(), table.image().now(), columns, 0, &rules[static_cast<size_t>(at)],
                std::min(piece, static_cast<int>(keys.size()) - at));
  }
  return rules;
}

void expect_first_matches(const std::vector<Rule>& rules, const std::vector<Key>& keys) {
  BitVectorTable table;
  table.load(rules, 7, kMax);
  const auto got = found(table, keys, 97);
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint32_t wanted = first_match(rules, keys[i]);
    ASSERT_EQ(got[i], wanted) << "of " << rules.size() << " rules, key " << i << ": " << text_of(keys[i]);
    ASSERT_EQ(table.image().outcome(got[i]).next, wanted == kNoRule ? 7 : rules[wanted].next);
  }
}

TEST(BitVectorTable, FindsTheFirstOfRandomRules) {
  auto random = test::random_for("bit vector rules");
  for (const size_t count : {0u, 1u, 2u, 63u, 64u, 65u, 511u, 512u, 513u, 1000u, 4096u, 5000u}) {
    const auto rules = random_rules(random, count);
    expect_first_matches(rules, keys_near(random, rules, count > 1000 ? 1000 : 3000));
  }
}

TEST(BitVectorTable, FindsTheFirstOfRulesThatOverlapCompletely) {
  auto random = test::random_for("overlapping rules");
  std::vector<Rule> same(700, random_rules(random, 1)[0]);
  expect_first_matches(same, keys_near(random, same, 500));
  std::vector<Rule> nested(1500);  // each within the next
  for (uint32_t i = 0; i < nested.size(); ++i)
    for (size_t f = 0; f < kFields; ++f) {
      nested[i].low[f] = f == kProtocol ? 0 : 30000 - std::min(i * 20, 30000u);
      nested[i].high[f] = f == kProtocol ? 255 : 30000 + std::min(i * 20, 35535u);
    }
  expect_first_matches(nested, keys_near(random, nested, 2000));
}

// Hits only far behind many words that all aggregates name and no vector confirms.
TEST(BitVectorTable, GoesOnBehindFalseCandidates) {
  std::vector<Rule> rules(9000);
  for (uint32_t i = 0; i + 1 < rules.size(); ++i) {
    rules[i].low = rules[i].high = {i % 2, 0, 0, 0, 6};
    rules[i].low[kDestination] = rules[i].high[kDestination] = 1 - i % 2;
  }
  rules.back().low = rules.back().high = {0, 0, 0, 0, 6};
  expect_first_matches(rules, {{0, 0, 0, 0, 6}, {1, 1, 0, 0, 6}, {0, 1, 0, 0, 6}, {1, 0, 0, 0, 6}});
}

TEST(BitVectorTable, KnowsTheEndsOfEveryField) {
  std::vector<Rule> rules;
  for (size_t f = 0; f < kFields; ++f)
    for (const uint32_t value : {0u, kLargest[f]}) {
      Rule rule;
      rule.low[f] = rule.high[f] = value;
      for (size_t g = 0; g < f; ++g) rule.low[g] = 1, rule.high[g] = kLargest[g] - 1;
      rules.push_back(rule);
    }
  std::vector<Key> keys;
  for (uint32_t choice = 0; choice < 1024; ++choice) {
    Key key;
    for (size_t f = 0; f < kFields; ++f) {
      const uint32_t values[] = {0, 1, kLargest[f] - 1, kLargest[f]};
      key[f] = values[choice >> 2 * f & 3];
    }
    keys.push_back(key);
  }
  expect_first_matches(rules, keys);
}

TEST(BitVectorTable, RefusesWhatDoesNotFitWithTheSizeThatItNeeds) {
  auto random = test::random_for("large set");
  BitVectorTable table;
  const auto few = random_rules(random, 3);
  table.load(few, 0, kMax);
  try {
    table.load(random_rules(random, 5000), 0, size_t{1} << 20);
    FAIL() << "it fitted";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("5000 rules need bit vectors of ")) << error.what();
    EXPECT_TRUE(std::string(error.what()).ends_with(" MB, and MEMORY allows 1 MB")) << error.what();
  }
  EXPECT_EQ(table.image().rules, 3u) << "the old set must stay";
  EXPECT_FALSE(table.has_retired());
}

TEST(BitVectorTable, KeepsTheSetBeforeForItsReaders) {
  auto random = test::random_for("replaced set");
  BitVectorTable table;
  int replaced = 0;
  table.add_copy({.patch = [](size_t, std::span<const std::byte>) {}, .replace = [&] { ++replaced; }});
  table.load(random_rules(random, 100), 0, kMax);
  EXPECT_EQ(replaced, 0);
  const Image& before = table.image();
  table.load(random_rules(random, 10), 0, kMax);
  EXPECT_EQ(replaced, 1);
  EXPECT_TRUE(table.has_retired());
  EXPECT_EQ(before.rules, 100u);
  EXPECT_EQ(table.image().rules, 10u);
  EXPECT_EQ(table.bytes().data(), reinterpret_cast<const std::byte*>(&table.image()));
  table.reclaim();
  EXPECT_FALSE(table.has_retired());
}

Actions any_action() {
  return {.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
}

TEST(BitVectorTable, FindsTheFirstOfGeneratedFilters) {
  auto random = test::random_for("generated filters");
  for (const char* like : {"acl", "fw", "ipc"}) {
    const auto filters = bench::generate_filters(bench::parameters_like(like), {.count = 2000, .seed = test::seed()});
    std::vector<std::string> errors;
    const auto rules = parse_rules(like, bench::to_text(filters), any_action(), errors);
    ASSERT_EQ(errors, std::vector<std::string>{});
    ASSERT_EQ(rules.size(), filters.size());
    expect_first_matches(rules, keys_near(random, rules, 2000));
  }
}

// ClassBench's sets, with headers on and just off the corners of their rules, and the first matches of an independent
// search.
TEST(BitVectorTable, AgreesWithTheExpectedMatchesOfClassBenchSets) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  const std::string folder = std::string(data ? data : "") + "/classbench/";
  if (data == nullptr || !std::filesystem::exists(folder)) GTEST_SKIP() << "no filter sets in $HEDDLE_TEST_DATA";
  int sets = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string path = file.path();
    if (!path.ends_with("k") || !std::filesystem::exists(path + "_edge_trace")) continue;
    std::vector<std::string> errors;
    const auto rules = parse_rules(path, read_text_file(path, "rule file"), any_action(), errors);
    ASSERT_EQ(errors, std::vector<std::string>{});
    BitVectorTable table;
    table.load(rules, 0, kMax);
    std::ifstream trace(path + "_edge_trace"), expected(path + "_edge_expected");
    std::vector<Key> keys;
    std::vector<uint32_t> wanted;
    Key key;
    for (std::string flags, filter; trace >> key[0] >> key[1] >> key[2] >> key[3] >> key[4] >> flags >> filter;)
      keys.push_back(key);
    for (int64_t rule; expected >> rule;) wanted.push_back(static_cast<uint32_t>(rule));
    ASSERT_GT(keys.size(), 100u);
    ASSERT_EQ(keys.size(), wanted.size());
    EXPECT_EQ(found(table, keys, 1024), wanted) << path;
    ++sets;
  }
  EXPECT_GE(sets, 4);
}

}  // namespace
}  // namespace heddle::classifier
