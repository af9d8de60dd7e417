#include "tests/support/harness.h"

namespace heddle::test {
namespace {

// The oracle: a clause as the manual describes it, one hexadecimal digit at a time.
bool clause_matches(std::string text, const Bytes& frame) {
  const bool reversed = text[0] == '!';
  if (reversed) text.erase(0, 1);
  const size_t slash = text.find('/'), percent = text.find('%');
  const size_t offset = std::stoul(text.substr(0, slash));
  const std::string value = text.substr(slash + 1, percent == std::string::npos ? percent : percent - slash - 1);
  const std::string mask = percent == std::string::npos ? std::string(value.size(), 'f') : text.substr(percent + 1);
  if (offset + value.size() / 2 > frame.size()) return false;
  bool equal = true;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '?') continue;
    const unsigned byte = frame[offset + i / 2];
    const unsigned digit = i % 2 == 0 ? byte / 16 : byte % 16;
    const auto of = [](char c) { return static_cast<unsigned>(std::stoul(std::string(1, c), nullptr, 16)); };
    equal = equal && (digit & of(mask[i])) == (of(value[i]) & of(mask[i]));
  }
  return equal != reversed;
}

bool pattern_matches(const std::string& pattern, const Bytes& frame) {
  if (pattern == "-") return true;
  size_t at = 0;
  while (at < pattern.size()) {
    const size_t end = std::min(pattern.find(' ', at), pattern.size());
    if (end > at && !clause_matches(pattern.substr(at, end - at), frame)) return false;
    at = end + 1;
  }
  return true;
}

void check(const std::vector<std::string>& patterns, const std::vector<Frame>& frames) {
  std::string chain = "TestSource -> c :: Classifier(", sinks;
  for (size_t i = 0; i < patterns.size(); ++i) {
    chain += (i > 0 ? ", " : "") + patterns[i];
    sinks += format(" c[%zu] -> s%zu :: TestSink;", i, i);
  }
  const Result result = run(chain + ");" + sinks, cpu(), frames, {.batches = {100, 1, 33}});
  std::vector<std::vector<Bytes>> wanted(patterns.size());
  uint64_t unmatched = 0;
  for (auto& frame : frames) {
    size_t first = 0;
    while (first < patterns.size() && !pattern_matches(patterns[first], frame.bytes)) ++first;
    if (first < patterns.size())
      wanted[first].push_back(frame.bytes);
    else
      ++unmatched;
  }
  for (size_t i = 0; i < patterns.size(); ++i)
    EXPECT_TRUE(same(result.bytes(format("s%zu", i)), wanted[i])) << "output " << i << " of " << chain;
  EXPECT_EQ(result.drop("c.no_match"), unmatched) << chain;
}

// Few values, so that patterns match often.
std::vector<Frame> small_frames(const std::string& purpose) {
  auto random = random_for(purpose);
  std::vector<Frame> frames = random_frames(random, 600, 0, 40);
  for (auto& frame : frames)
    for (auto& byte : frame.bytes) byte = static_cast<uint8_t>((byte & 1) * 0x10 + (byte >> 7));
  return frames;
}

TEST(Classifier, TakesTheFirstPatternThatMatches) {
  check({"0/10", "0/1?", "1/00 2/01", "-"}, small_frames("classifier first"));
  check({"-", "0/10"}, small_frames("classifier all"));
}

TEST(Classifier, KnowsMasksAndWildcards) {
  check({"0/10%10 1/00%01", "0/?1", "3/1?0?", "5/ffff%0010"}, small_frames("classifier masks"));
  check({"0/11%00"}, small_frames("classifier empty mask"));
}

// Such as a network has: many of a kind one behind the other, which are compared side by side, and some that differ
// from a certain byte on, or are short.
TEST(Classifier, TellsFramesOfAKindFromThoseBetween) {
  auto random = random_for("classifier kinds");
  std::vector<Frame> frames;
  for (int kind = 0; kind < 12; ++kind) {
    Bytes bytes(40);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random() % 2);
    for (int i = 0; i < 150; ++i) {
      frames.push_back({.bytes = bytes});
      if (kind % 3 == 1 && i % 70 == 40) frames.back().bytes[random() % 8] ^= 1;
      if (kind % 3 == 2 && i % 90 == 50) frames.back().bytes.resize(random() % 8);
    }
  }
  for (const char* last : {"-", "6/01"})
    check({"0/01 1/00 5/01", "0/01 1/01", "2/01 !3/00", "4/0100 0/00", "4/0001", last}, frames);
}

TEST(Classifier, ReversesClauses) {
  check({"!0/10", "!1/?0 2/1?", "!3/00%11 !4/00"}, small_frames("classifier reversed"));
}

// Bytes that are not there match nothing, not even reversed; the clause's last byte decides.
TEST(Classifier, DoesNotMatchBehindTheEnd) {
  check({"20/00", "!21/00", "10/????", "0/??"}, small_frames("classifier ends"));
  check({"12/0800", "!12/0800"}, small_frames("classifier two bytes"));
}

TEST(Classifier, KnowsRandomPatterns) {
  auto random = random_for("classifier patterns");
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> patterns(1 + random() % 5);
    for (auto& pattern : patterns) {
      for (unsigned k = 0; k <= random() % 3; ++k) {
        const unsigned bytes = 1 + random() % 3;
        std::string value, mask;
        for (unsigned i = 0; i < 2 * bytes; ++i) {
          value += "01?"[random() % 3];
          mask += "01f"[random() % 3];
        }
        pattern += format("%s%s%u/%s", k > 0 ? " " : "", random() % 4 == 0 ? "!" : "",
                          static_cast<unsigned>(random() % 22), value.c_str());
        if (random() % 2 == 0) pattern += "%" + mask;
      }
    }
    check(patterns, small_frames(format("classifier %d", round)));
  }
}

TEST(Classifier, RefusesWhatIsNoPattern) {
  for (const char* bad : {"12", "12/", "12/8", "12/080", "/08", "-1/08", "16385/08", "12/0g", "12/08%f", "12/08%ffff",
                          "12/08 x", "!", "!-", "12/08%"})
    EXPECT_NE(mistakes(format("TestSource -> c :: Classifier(%s) -> TestSink;", bad)).find("is not a pattern such as"),
              std::string::npos)
        << bad;
  EXPECT_NE(mistakes("TestSource -> c :: Classifier -> TestSink;").find("missing patterns"), std::string::npos);
}

}  // namespace
}  // namespace heddle::test
