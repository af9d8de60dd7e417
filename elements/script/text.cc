#include "elements/script/text.h"

#include <algorithm>

#include "click/quoting.h"
#include "core/error.h"

namespace heddle::script {
namespace {

constexpr int kMaxDepth = 32;

std::string escaped(std::string_view value) {
  std::string result;
  for (const char c : value) {
    if (c == '"' || c == '\\' || c == '$') result += '\\';
    result += c;
  }
  return result;
}

// The position of the ')' that ends what begins at `start`; npos if there is none.
size_t closing(std::string_view text, size_t start) {
  int open = 1;
  for (size_t i = start; i < text.size();) {
    const size_t end = click::end_of_quoted(text, i);
    if (end == std::string_view::npos) return end;
    if (end != i) {
      i = end;
      continue;
    }
    if (text[i] == '(') ++open;
    if (text[i] == ')' && --open == 0) return i;
    ++i;
  }
  return std::string_view::npos;
}

struct Reference {
  std::string_view name;
  size_t end = 0;  // behind it; 0: there is none
  bool call = false;
};

// What begins with the dollar sign at `at`.
Reference reference_at(std::string_view text, size_t at) {
  const size_t first = at + 1;
  if (first >= text.size()) return {};
  const char c = text[first];
  if (c == '(' || c == '{') {
    const size_t end = c == '(' ? closing(text, first + 1) : text.find('}', first);
    if (end == std::string_view::npos) return {};
    return {text.substr(first + 1, end - first - 1), end + 1, c == '('};
  }
  if (c == '?' || c == '#' || c == '$') return {text.substr(first, 1), first + 1, false};
  size_t end = first;
  while (end < text.size() && click::is_word_character(text[end])) ++end;
  return end == first ? Reference{} : Reference{text.substr(first, end - first), end, false};
}

}  // namespace

std::string take_word(std::string_view& text) {
  const auto words = click::split_words(text);
  if (words.empty()) {
    text = {};
    return {};
  }
  const std::string word(words[0]);
  text.remove_prefix(static_cast<size_t>(words[0].data() + words[0].size() - text.data()));
  while (!text.empty() && click::is_space(text[0])) text.remove_prefix(1);
  return word;
}

bool parse_time(std::string_view text, click::Duration& time) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"usec", 1},   {"us", 1},    {"msec", 1e3}, {"ms", 1e3},
                                                            {"sec", 1e6},  {"s", 1e6},   {"min", 6e7},  {"m", 6e7},
                                                            {"hr", 3.6e9}, {"h", 3.6e9}, {"", 1e6}};
  for (auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    double number = 0;
    const std::string_view digits = click::trim(text.substr(0, text.size() - unit.size()));
    if (!click::parse(digits, number, 0.0, 1e15 / factor)) return false;
    time.microseconds = static_cast<uint64_t>(number * factor + 0.5);
    return true;
  }
  return false;
}

std::string expand(std::string_view text, const Meaning& meaning, bool quote, int depth) {
  if (depth > kMaxDepth) throw Error("$( ) nests too deep");
  std::string result;
  char quoted = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\\' && quoted != '\'' && i + 1 < text.size()) {
      result += text.substr(i, 2);
      i += 2;
      continue;
    }
    if (c == '"' || c == '\'') {
      if (quoted == 0)
        quoted = c;
      else if (quoted == c)
        quoted = 0;
    }
    const Reference reference = c == '$' && quoted != '\'' ? reference_at(text, i) : Reference{};
    if (reference.end == 0) {
      result += c;
      ++i;
      continue;
    }
    const std::string name =
        reference.call ? expand(reference.name, meaning, false, depth + 1) : std::string(reference.name);
    if (const auto value = meaning(name, reference.call)) {
      if (quoted == '"')
        result += escaped(*value);
      else
        result += quote ? '"' + escaped(*value) + '"' : *value;
    } else {
      result += text.substr(i, reference.end - i);
    }
    i = reference.end;
  }
  return result;
}

}  // namespace heddle::script
