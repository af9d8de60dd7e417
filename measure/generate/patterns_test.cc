#include "measure/generate/patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "measure/generate/test_support.h"

namespace heddle::bench {
namespace {

bool printable(char c) { return ' ' <= c && c <= '~'; }

TEST(Patterns, AreTheSameForTheSameSeed) {
  EXPECT_EQ(checksum(to_text(generate_patterns(2000, 1))), 10529425101562469485u);
  EXPECT_NE(generate_patterns(100, 1), generate_patterns(100, 2));
  EXPECT_EQ(generate_patterns(1, 1).size(), 1u);
}

TEST(Patterns, HaveTheStatisticsOfRealRules) {
  const auto patterns = generate_patterns(30'000, 3);
  std::set<std::string> sorted, states;
  double bytes = 0, short_ones = 0, text = 0, binary = 0, nocase = 0;
  for (const auto& pattern : patterns) {
    sorted.insert(pattern.bytes);
    for (size_t k = 1; k <= pattern.bytes.size(); ++k) states.insert(pattern.bytes.substr(0, k));
    bytes += static_cast<double>(pattern.bytes.size());
    short_ones += pattern.bytes.size() <= 16;
    text += std::all_of(pattern.bytes.begin(), pattern.bytes.end(), printable);
    binary += std::none_of(pattern.bytes.begin(), pattern.bytes.end(), printable);
    nocase += pattern.nocase;
    if (pattern.nocase) {
      EXPECT_TRUE(
          std::none_of(pattern.bytes.begin(), pattern.bytes.end(), [](char c) { return 'A' <= c && c <= 'Z'; }));
    }
  }
  EXPECT_EQ(sorted.size(), 30'000u) << "duplicates";
  EXPECT_NEAR(bytes / 30'000, 17.7, 0.5);
  EXPECT_NEAR(short_ones / 30'000, 0.61, 0.02);
  EXPECT_NEAR(text / 30'000, 0.89, 0.03);
  EXPECT_NEAR(binary / 30'000, 0.022, 0.005);
  EXPECT_NEAR(nocase / 30'000, 0.405, 0.015);
  // Of a trie, states per byte: 0.71 in the real set.
  EXPECT_NEAR(static_cast<double>(states.size()) / bytes, 0.71, 0.05);
  double shared = 0;
  for (auto next = std::next(sorted.begin()), before = sorted.begin(); next != sorted.end(); ++next, ++before)
    shared += static_cast<double>(std::mismatch(before->begin(), before->end(), next->begin(), next->end()).first -
                                  before->begin());
  EXPECT_NEAR(shared / 30'000, 5.2, 0.9);
}

TEST(Patterns, AreWrittenAsSnortDoes) {
  const std::vector<Pattern> patterns = {{"GET /", false}, {"a:b;\"c\\|", true}, {std::string("\0\x90x", 3), false}};
  const std::string text =
      "content:\"GET /\";\n"
      "content:\"a|3A|b|3B 22|c|5C 7C|\"; nocase;\n"
      "content:\"|00 90|x\";\n";
  EXPECT_EQ(to_text(patterns), text);
  EXPECT_EQ(parse_patterns("p", text), patterns);
  const auto many = generate_patterns(3000, 5);
  EXPECT_EQ(parse_patterns("p", to_text(many)), many);
}

TEST(Patterns, ReportMistakes) {
  const std::pair<const char*, const char*> cases[] = {
      {"abc", "p:1: expected content:"},
      {"content:\"abc\"; within:3;", "p:1: ' within:3;' where nocase; or the end was expected"},
      {"\ncontent:\"|0\";", "p:2: '|' that does not end"},
      {"content:\"|0g|\";", "p:1: '0g' is not a byte in hex"},
      {"content:\"\";", "p:1: a pattern without a byte"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(error_of([&, text = text] { parse_patterns("p", text); }).substr(0, std::string(expected).size()),
              expected);
}

}  // namespace
}  // namespace heddle::bench
