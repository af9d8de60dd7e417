#include "click/arguments.h"

#include <cctype>

#include "click/quoting.h"
#include "click/syntax.h"

namespace heddle::click {
namespace {

/** "; did you mean 'KEYWORD value'?" if `text` is that with one of the keywords in other letters, else "". */
std::string in_capitals(const std::string& text, const std::vector<std::string>& keywords) {
  const auto space = static_cast<size_t>(std::ranges::find_if(text, is_space) - text.begin());
  std::string word = text.substr(0, space);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (space == text.size() || std::ranges::find(keywords, word) == keywords.end()) return "";
  return "; did you mean " + in_quotes(word + text.substr(space)) + "?";
}

}  // namespace

Arguments::Arguments(const ElementDeclaration& element, Diagnostics& diagnostics, const AddressBook* addresses)
    : name_(element.name),
      label_(element_label(element.class_name, element.name)),
      where_(element.where),
      diagnostics_(diagnostics),
      addresses_(addresses) {
  for (const Argument& argument : element.arguments)
    entries_.push_back({argument, std::string(leading_keyword(argument.text))});
}

int Arguments::take(const char* name, bool positional) {
  const auto next = [&](auto matches) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return !entry.taken && matches(entry); });
    return found == entries_.end() ? -1 : static_cast<int>(found - entries_.begin());
  };
  int index = next([&](const Entry& entry) { return entry.keyword == name; });
  // A keyword is one that a value follows (Click): alone, the word is a value where one may stand without a keyword.
  if (index < 0 && positional) index = next([](const Entry& entry) { return entry.keyword.empty(); });
  if (index < 0) {
    index = next([&](const Entry& entry) { return entry.argument.text == name; });
    if (index >= 0) entries_[static_cast<size_t>(index)].keyword = name;
  }
  if (index >= 0) entries_[static_cast<size_t>(index)].taken = true;
  names_.emplace_back(name, index);
  return index;
}

std::string_view Arguments::value_text(int index) const {
  const Entry& entry = entries_[static_cast<size_t>(index)];
  return trim(std::string_view(entry.argument.text).substr(entry.keyword.size()));
}

std::vector<Argument> Arguments::take_rest(bool keywords) {
  std::vector<Argument> result;
  for (Entry& entry : entries_) {
    if (entry.taken || !(entry.keyword.empty() || keywords)) continue;
    entry.taken = true;
    result.push_back(entry.argument);
  }
  return result;
}

std::vector<Argument> Arguments::rest() { return take_rest(false); }

std::vector<Argument> Arguments::rest_with_keywords() { return take_rest(true); }

void Arguments::error(const std::string& message) { diagnostics_.error(where_, label_ + ": " + message); }

void Arguments::error_at(const Argument& argument, const std::string& message) {
  diagnostics_.error(argument.where, label_ + ": " + message);
}

void Arguments::error(const Argument& argument, const std::string& expected) {
  error_at(argument, in_quotes(argument.text) + " is not " + expected);
}

void Arguments::error(const char* name, const std::string& expected) {
  for (const auto& [asked, index] : names_) {
    if (asked != name || index < 0) continue;
    const Location& where = entries_[static_cast<size_t>(index)].argument.where;
    return diagnostics_.error(where,
                              label_ + ": " + name + ": " + in_quotes(value_text(index)) + " is not " + expected);
  }
  error(std::string(name) + " is not " + expected);
}

void Arguments::finish() {
  std::vector<std::string> known;
  for (const auto& [name, index] : names_) known.push_back(name);
  for (const Entry& entry : entries_) {
    if (entry.taken) continue;
    const std::string& text = entry.argument.text;
    std::string message = in_quotes(text) + " is one argument too many" + in_capitals(text, known);
    if (!entry.keyword.empty()) {
      const bool repeated = std::find(known.begin(), known.end(), entry.keyword) != known.end();
      message = repeated ? "keyword " + in_quotes(entry.keyword) + " is given twice"
                         : "unknown keyword " + in_quotes(entry.keyword) + suggestion(entry.keyword, known);
    }
    diagnostics_.error(entry.argument.where, label_ + ": " + message);
  }
}

}  // namespace heddle::click
