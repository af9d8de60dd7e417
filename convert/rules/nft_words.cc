#include "convert/rules/nft_words.h"

#include <algorithm>

#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier::nft {

constexpr size_t kMaxWords = size_t{1} << 25;  // some for each rule that there may be

std::vector<Word> words_of_ruleset(std::string_view text, Mistakes& mistakes) {
  std::vector<Word> words;
  size_t line = 1, set_depth = 0;
  // Whether a brace here is that of a table, a chain or another block, and not of a set in a rule.
  const auto opens_block = [&] {
    size_t first = words.size();
    while (first > 0 && !words[first - 1].is("\n") && !words[first - 1].is(";") && !words[first - 1].is("{")) --first;
    const size_t count = words.size() - first;
    if (count == 0) return true;
    const std::string kind = words[first].quoted ? "" : words[first].text;
    constexpr const char* kBlocks[] = {"table", "chain", "set", "map", "flowtable"};
    constexpr const char* kObjects[] = {"counter", "quota", "limit", "secmark", "synproxy"};
    constexpr const char* kConnections[] = {"helper", "timeout", "expectation"};
    return std::ranges::find(kBlocks, kind) != std::end(kBlocks) ||
           (count == 2 && std::ranges::find(kObjects, kind) != std::end(kObjects)) ||
           (count > 1 && kind == "ct" &&
            std::ranges::find(kConnections, words[first + 1].text) != std::end(kConnections));
  };
  for (size_t at = 0; at < text.size();) {
    if (words.size() == kMaxWords)
      throw Error(format("line %zu: up to here are %zu words, more than are read", line, kMaxWords));
    const char c = text[at];
    if (c == '\n') {
      if (set_depth == 0) words.push_back({"\n", line, false});
      ++line, ++at;
    } else if (is_blank(c)) {
      ++at;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"') {
      const size_t end = std::min(text.find_first_of("\"\n", at + 1), text.size());
      const bool closed = end < text.size() && text[end] == '"';
      if (!closed)
        mistakes.add(line, in_quotes(text.substr(at, end - at)) + " is not closed: expected '\"' in its line");
      words.push_back({std::string(text.substr(at + 1, end - at - 1)), line, true});
      at = closed ? end + 1 : end;
    } else if (c == '{' || c == '}') {
      if (c == '{' && (set_depth > 0 || !opens_block()))
        ++set_depth;
      else if (c == '}' && set_depth > 0)
        --set_depth;
      words.push_back({std::string(1, c), line, false});
      ++at;
    } else if (c == ',' || c == ';' || c == '(' || c == ')') {
      words.push_back({std::string(1, c), line, false});
      ++at;
    } else {
      const size_t end = std::min(text.find_first_of(" \t\r\v\f\n#\"{},;()", at), text.size());
      words.push_back({std::string(text.substr(at, end - at)), line, false});
      at = end;
    }
  }
  words.push_back({"\n", line, false});
  return words;
}

std::string text_of_words(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += (text.empty() ? "" : " ") + (word.quoted ? '"' + word.text + '"' : word.text);
  return text;
}

}  // namespace heddle::classifier::nft
