// Every way to search against std::string::find, for each pattern and place.

#include "functions/aho_corasick/automata.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "core/error.h"
#include "tests/support/frames.h"

namespace heddle::aho_corasick {
namespace {

using Patterns = std::vector<std::vector<std::string>>;

/** Automata whose patterns are numbered from 0 each. */
Automata automata_of(const Patterns& patterns) {
  std::vector<std::vector<Pattern>> numbered(patterns.size());
  for (size_t a = 0; a < patterns.size(); ++a)
    for (uint32_t p = 0; p < patterns[a].size(); ++p) numbered[a].push_back({patterns[a][p], p});
  return Automata(numbered);
}

std::vector<Match> expected(const std::vector<std::string>& patterns, std::string_view text) {
  std::vector<Match> all;
  for (uint32_t p = 0; p < patterns.size(); ++p)
    for (size_t at = text.find(patterns[p]); at != std::string_view::npos; at = text.find(patterns[p], at + 1))
      all.push_back({p, static_cast<uint32_t>(at + patterns[p].size())});
  std::ranges::sort(all, [&](const Match& a, const Match& b) {
    return a.end != b.end ? a.end < b.end : patterns[a.pattern].size() > patterns[b.pattern].size();
  });
  return all;
}

void expect_right(const Patterns& patterns, const std::vector<Text>& texts) {
  const Automata automata = automata_of(patterns);
  Automata::Batch batch;
  for (int way = 0; way < 3; ++way) {
    std::vector<std::vector<Match>> found(texts.size());
    if (way == 0) automata.search(texts, found.data());
    if (way == 1) automata.search_together(texts, found.data());
    if (way == 2) automata.search_sorted(texts, found.data(), batch);
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string_view text(reinterpret_cast<const char*>(texts[i].bytes), texts[i].length);
      ASSERT_EQ(found[i], expected(patterns[texts[i].automaton], text)) << "way " << way << ", text " << i;
    }
  }
  std::vector<Match> first(texts.size());
  automata.find_first(texts, first.data(), batch);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string_view text(reinterpret_cast<const char*>(texts[i].bytes), texts[i].length);
    const std::vector<Match> all = expected(patterns[texts[i].automaton], text);
    ASSERT_EQ(first[i], all.empty() ? (Match{kNoPattern, 0}) : all[0]) << "text " << i;
  }
}

TEST(AhoCorasick, FindsWhatFindFinds) {
  auto random = test::random_for("aho-corasick");
  const auto word = [&](size_t longest) {
    std::string text(1 + random() % longest, 'a');
    for (char& c : text) c = random() % 9 != 0 ? static_cast<char>('a' + random() % 3) : static_cast<char>(random());
    return text;
  };
  for (const size_t count : {0u, 1u, 7u, 8u, 9u, 100u, 1000u}) {
    Patterns patterns(1 + random() % 6);
    for (auto& of_one : patterns) {
      for (size_t p = random() % 20; p > 0; --p) of_one.push_back(word(6));
      std::ranges::sort(of_one);
      of_one.erase(std::unique(of_one.begin(), of_one.end()), of_one.end());
      std::ranges::shuffle(of_one, random);
    }
    std::vector<std::string> memory(count);
    std::vector<Text> texts;
    for (std::string& text : memory) {
      if (random() % 8 != 0) text = word(100);  // else it is empty
      text.shrink_to_fit();
      texts.push_back({reinterpret_cast<const uint8_t*>(text.data()), static_cast<uint32_t>(text.size()),
                       static_cast<uint32_t>(random() % patterns.size())});
    }
    expect_right(patterns, texts);
  }
}

TEST(AhoCorasick, OfEqualPatternsTheFirstIsFound) {
  const Automata automata = automata_of({{"ab", "b", "ab"}});
  const std::string text = "xab";
  const Text one{reinterpret_cast<const uint8_t*>(text.data()), 3, 0};
  std::vector<Match> found;
  automata.search({&one, 1}, &found);
  EXPECT_EQ(found, (std::vector<Match>{{0, 3}, {1, 3}}));
  EXPECT_EQ(automata.states(), 4u);
}

TEST(AhoCorasick, RefusesWhatIsTooLarge) {
  std::vector<std::string> patterns;
  auto random = test::random_for("large automaton");
  for (int p = 0; p < 70; ++p) {
    patterns.emplace_back(1000, ' ');
    for (char& c : patterns.back()) c = static_cast<char>(random());
  }
  EXPECT_THROW(automata_of({patterns}), Error);
  patterns.resize(60);
  EXPECT_GT(automata_of({patterns}).states(), 59000u);
}

}  // namespace
}  // namespace heddle::aho_corasick
