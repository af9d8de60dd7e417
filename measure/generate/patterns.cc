#include "measure/generate/patterns.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <unordered_set>

#include "core/error.h"
#include "measure/generate/text.h"
#include "measure/generate/words.h"

namespace heddle::bench {
namespace {

// Patterns of 4, 5, ... 64 bytes in the rules that patterns.h names, and of 65 to 79, 80 to 99, 100 to 149, 150 to 255.
const std::vector<double> kLengths = {1244, 1430, 1760, 1249, 1440, 1451, 1661, 1531, 1582, 1378, 1305, 1246, 1214,
                                      978,  896,  808,  758,  804,  607,  707,  450,  382,  359,  320,  273,  265,
                                      259,  221,  875,  166,  174,  171,  544,  147,  123,  130,  110,  101,  86,
                                      80,   83,   69,   56,   60,   56,   46,   52,   31,   43,   31,   24,   23,
                                      30,   31,   26,   18,   22,   19,   30,   16,   12,   220,  131,  100,  20};
constexpr size_t kShortest = 4, kLongLengths[][2] = {{65, 79}, {80, 99}, {100, 149}, {150, 255}};
// Neighbours in the sorted set with 0, 1, ... 39 and 40 or more equal first bytes.
const std::vector<double> kShared = {255, 3595, 6084, 4536, 3015, 2129, 1599, 1470, 1196, 778, 538, 394, 385, 300,
                                     285, 190,  158,  137,  117,  94,   118,  105,  80,   59,  65,  53,  49,  32,
                                     23,  20,   19,   27,   23,   18,   19,   22,   17,   17,  19,  15,  84};
constexpr size_t kShortText = 8;  ///< patterns shorter than this have other kinds
constexpr double kNocase = 0.405;

struct Kind {
  double text, binary;  ///< the rest is mixed
};
constexpr Kind kShortKind = {0.805, 0.100}, kLongKind = {0.923, 0.006};

// Bytes outside text: these in a thousandth of all, else any.
constexpr unsigned char kBinary[] = {0x00, 0x0a, 0x0d, 0x01, 0x02, 0x03, 0x04, 0x10,
                                     0xff, 0x06, 0x13, 0x09, 0x90, 0x07, 0x08, 0x80};
const std::vector<double> kBinaryWeights = {290, 89, 84, 23, 23, 20, 20, 18, 18, 17, 14, 13, 9, 9, 9, 6, 338};

// What text in such patterns is made of, besides words and numbers.
constexpr std::string_view kMarks[] = {".", "/", " ", "=", "-", "_", "\"", "&", ":", "<",
                                       "%", ">", "(", ",", "?", "'", ";",  "+", "|", "\\"};
const std::vector<double> kMarkWeights = {289, 166, 220, 151, 113, 73, 92, 62, 57, 45,
                                          42,  41,  30,  25,  25,  20, 20, 10, 8,  15};
constexpr std::string_view kStarts[] = {"", "/", "&", ".", "<", "\"", ":"};
const std::vector<double> kStartWeights = {663, 107, 83, 73, 45, 13, 9};

bool printable(unsigned char byte) { return 32 <= byte && byte < 127; }

class PatternMaker {
 public:
  explicit PatternMaker(uint64_t seed) : random_(seed) {}

  Pattern pattern(const std::vector<Pattern>& earlier) {
    const size_t length = this->length();
    const Kind& kind = length < kShortText ? kShortKind : kLongKind;
    const double drawn = random_.unit();
    const bool text = drawn < kind.text, binary = !text && drawn < kind.text + kind.binary;
    Pattern result{binary ? bytes(length) : content(length), random_.chance(kNocase)};
    if (!text && !binary) mix(result.bytes);
    if (!binary) share(result.bytes, text, earlier);
    if (result.nocase)
      for (char& c : result.bytes) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return result;
  }

  Random& random() { return random_; }

 private:
  size_t length() {
    constexpr size_t kFirstLong = std::size(kLongLengths);
    const size_t drawn = lengths_(random_), few = kLengths.size() - kFirstLong;
    if (drawn < few) return kShortest + drawn;
    return random_.between(kLongLengths[drawn - few][0], kLongLengths[drawn - few][1]);
  }

  char byte() {
    const size_t drawn = binary_(random_);
    if (drawn < std::size(kBinary)) return static_cast<char>(kBinary[drawn]);
    uint64_t any = random_.below(256 - 95);
    if (any >= 32) any += 95;
    return static_cast<char>(any);
  }
  std::string bytes(size_t length) {
    std::string result;
    while (result.size() < length) result += byte();
    return result;
  }

  std::string content(size_t length) {
    std::string text(kStarts[starts_(random_)]);
    while (text.size() < length) {
      const double drawn = random_.unit();
      if (drawn < 0.06) {
        for (uint64_t digits = random_.between(1, 5); digits > 0; --digits)
          text += static_cast<char>('0' + random_.below(10));
      } else if (drawn < 0.09) {
        for (uint64_t digits = random_.between(4, 32); digits > 0; --digits)
          text += "0123456789abcdef"[random_.below(16)];
      } else {
        std::string word = words_(random_, random_.between(2, 10));
        const double letters = random_.unit();
        if (letters < 0.15) word[0] = static_cast<char>(std::toupper(word[0]));
        if (letters < 0.03)
          for (char& c : word) c = static_cast<char>(std::toupper(c));
        text += word;
      }
      if (random_.chance(0.9)) text += kMarks[marks_(random_)];
    }
    text.resize(length);
    return text;
  }

  // A run of bytes somewhere, or one behind every letter, as text in UTF-16 has.
  void mix(std::string& text) {
    if (text.size() >= kShortText && random_.chance(0.1)) {
      for (size_t i = 1; i < text.size(); i += 2) text[i] = '\0';
      return;
    }
    const size_t run = 1 + random_.below(std::min<size_t>(4, text.size() - 1));
    const size_t at = random_.chance(0.5) ? text.size() - run : random_.below(text.size() - run + 1);
    for (size_t i = 0; i < run; ++i) text[at + i] = byte();
  }

  // Gives `bytes` the beginning of an earlier pattern.
  void share(std::string& bytes, bool text, const std::vector<Pattern>& earlier) {
    if (earlier.empty()) return;
    const std::string& other = earlier[random_.below(earlier.size())].bytes;
    const size_t most = std::min(other.size(), bytes.size() - 1);
    const size_t shared = std::min(shared_(random_), most);
    if (text && !std::all_of(other.begin(), other.begin() + static_cast<ptrdiff_t>(shared), printable)) return;
    bytes.replace(0, shared, other, 0, shared);
  }

  Random random_;
  Words words_;
  Discrete lengths_{kLengths}, shared_{kShared}, binary_{kBinaryWeights}, marks_{kMarkWeights}, starts_{kStartWeights};
};

bool plain(unsigned char byte) {
  return printable(byte) && std::string_view("\";:\\|").find(static_cast<char>(byte)) == std::string_view::npos;
}

}  // namespace

std::vector<Pattern> generate_patterns(size_t count, uint64_t seed) {
  PatternMaker maker(seed);
  std::unordered_set<std::string> seen;
  std::vector<Pattern> patterns;
  patterns.reserve(count);
  while (patterns.size() < count) {
    Pattern pattern = maker.pattern(patterns);
    if (seen.insert(pattern.bytes).second) patterns.push_back(std::move(pattern));
  }
  maker.random().shuffle(patterns);
  return patterns;
}

std::string to_text(const Pattern& pattern) {
  std::string text = "content:\"";
  bool hex = false;
  for (const char c : pattern.bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (plain(byte) == hex)
      text += '|';
    else if (hex)
      text += ' ';
    hex = !plain(byte);
    text += hex ? format("%02X", byte) : std::string(1, c);
  }
  return text + (hex ? "|\";" : "\";") + (pattern.nocase ? " nocase;" : "");
}

std::string to_text(const std::vector<Pattern>& patterns) {
  std::string text;
  for (const Pattern& pattern : patterns) text += to_text(pattern) + "\n";
  return text;
}

std::string to_rules(const std::vector<Pattern>& patterns) {
  std::string text;
  for (size_t i = 0; i < patterns.size(); ++i)
    text += format("alert ip any any -> any any (msg:\"pattern %zu\"; ", i + 1) + to_text(patterns[i]) +
            format(" sid:%zu; rev:1;)\n", 1000001 + i);
  return text;
}

std::vector<Pattern> parse_patterns(const std::string& name, std::string_view text) {
  constexpr std::string_view kBegin = "content:\"", kNocaseOption = "nocase;";
  std::vector<Pattern> patterns;
  LineReader reader(name, text);
  for (std::string_view line; reader.next(line);) {
    if (words_of(line).empty() || line.starts_with('#')) continue;
    const size_t end = line.rfind("\";");
    if (!line.starts_with(kBegin) || end == line.npos || end < kBegin.size())
      reader.fail("expected content:\"TEXT|HEX|...\"; and perhaps nocase;");
    Pattern pattern;
    const auto options = words_of(line.substr(end + 2));
    pattern.nocase = options.size() == 1 && options[0] == kNocaseOption;
    if (options.size() > 1 || (options.size() == 1 && !pattern.nocase))
      reader.fail("'" + std::string(line.substr(end + 2)) + "' where nocase; or the end was expected");
    std::string_view rest = line.substr(kBegin.size(), end - kBegin.size());
    while (!rest.empty()) {
      const size_t bar = rest.find('|');
      pattern.bytes += rest.substr(0, bar);
      if (bar == rest.npos) break;
      const size_t closing = rest.find('|', bar + 1);
      if (closing == rest.npos) reader.fail("'|' that does not end");
      for (const auto word : words_of(rest.substr(bar + 1, closing - bar - 1))) {
        uint8_t byte = 0;
        if (word.size() != 2 || !parse_hexadecimal("0x" + std::string(word), byte))
          reader.fail("'" + std::string(word) + "' is not a byte in hex");
        pattern.bytes += static_cast<char>(byte);
      }
      rest.remove_prefix(closing + 1);
    }
    if (pattern.bytes.empty()) reader.fail("a pattern without a byte");
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

}  // namespace heddle::bench
