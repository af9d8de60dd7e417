#include "click/variables.h"

#include <algorithm>
#include <optional>

#include "click/lexer.h"
#include "click/quoting.h"
#include "click/values.h"

namespace heddle::click {

namespace {

/** The text as it stands between double quotes. */
std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$') result += '\\';
    result += c;
  }
  return result;
}

/** The position of the '}' that closes the '{' at `open`, or npos. */
size_t closing_brace(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return text.npos;
}

size_t word_length(std::string_view text, size_t start) {
  size_t end = start;
  while (end < text.size() && is_word_character(text[end])) ++end;
  return end - start;
}

/** Whether `name` has a value in `scope` or around it. */
bool is_defined(std::string_view name, const Scope& scope) {
  for (const Scope* s = &scope; s != nullptr; s = s->parent)
    if (s->variables.contains(name)) return true;
  return false;
}

}  // namespace

void Substitution::error(const std::string& message) {
  diagnostics_.error(where_, label_.empty() ? message : label_ + ": " + message);
}

std::string Substitution::reference(std::string_view name, std::string_view written, const std::string_view* fallback,
                                    Scope& scope, int depth) {
  for (Scope* s = &scope; s != nullptr; s = s->parent) {
    const auto found = s->variables.find(name);
    if (found == s->variables.end()) continue;
    Variable& variable = found->second;
    if (variable.state == Variable::kEvaluating) {
      error("variable " + in_quotes("$" + std::string(name)) + " is defined in terms of itself");
      return "";
    }
    if (variable.state == Variable::kWritten) {
      variable.state = Variable::kEvaluating;
      variable.value = text(variable.value, *s, depth + 1);
      variable.state = Variable::kReady;
    }
    return variable.value;
  }
  if (fallback != nullptr) return text(*fallback, scope, depth + 1);
  if (undefined_stay_) return std::string(written);
  if (diagnostics_.full()) return "";
  std::vector<std::string> known;
  for (const Scope* s = &scope; s != nullptr; s = s->parent)
    for (const auto& [other, variable] : s->variables) known.push_back(other);
  const std::string near = nearest(name, known);
  error("variable " + in_quotes("$" + std::string(name)) + " is not defined; " +
        (near.empty() ? "expected a define() of it" : "did you mean '$" + near + "'?"));
  return "";
}

std::string Substitution::text(std::string_view written, Scope& scope, int depth) {
  if (depth > kMaxDepth) {
    error("variables refer to each other more than " + std::to_string(kMaxDepth) + " deep");
    return "";
  }
  std::string result;
  bool double_quoted = false;
  for (size_t i = 0; i < written.size();) {
    const char c = written[i];
    const bool braces = c == '$' && i + 1 < written.size() && written[i + 1] == '{';
    const size_t name_start = braces ? i + 2 : i + 1;
    const size_t name_length = c == '$' ? word_length(written, name_start) : 0;
    if (braces || name_length > 0) {
      const std::string_view name = written.substr(name_start, name_length);
      size_t end = name_start + name_length;
      std::string_view fallback;
      bool has_fallback = false;
      std::optional<uint32_t> word;  // of ${NAME[N]}
      if (braces) {
        const size_t close = closing_brace(written, i + 1);
        const size_t bracket = written.substr(0, close).find(']', end);
        if (close != written.npos && written[end] == '[' && bracket != written.npos && is_defined(name, scope)) {
          uint32_t number = 0;
          if (parse(trim(text(written.substr(end + 1, bracket - end - 1), scope, depth + 1)), number)) word = number;
          if (word) end = bracket + 1;
        }
        has_fallback = close != written.npos && written[end] == '-';
        const bool malformed = name.empty() || close == written.npos || (close != end && !has_fallback);
        if (malformed && undefined_stay_ && close != written.npos) {  // a name that a Script may use, as ${a[0]}
          result += written.substr(i, close + 1 - i);
          i = close + 1;
          continue;
        }
        if (malformed) {
          error("malformed variable " + in_quotes(written.substr(i)) +
                "; expected ${NAME}, ${NAME-default} or, of a variable that is defined, ${NAME[NUMBER]}");
          return result;
        }
        if (has_fallback) fallback = written.substr(end + 1, close - end - 1);
        end = close + 1;
      }
      const std::string_view reference_text = written.substr(i, end - i);
      std::string value = reference(name, reference_text, has_fallback ? &fallback : nullptr, scope, depth);
      if (word) {
        const std::vector<std::string_view> words = split_words(value);
        value = *word < words.size() ? std::string(words[*word]) : "";
      }
      result += double_quoted && value != reference_text ? escape(unquote(value)) : value;
      if (result.size() > kMaxValue) {
        error("is longer than " + std::to_string(kMaxValue) + " characters after substitution");
        return "";
      }
      i = end;
      continue;
    }
    size_t end = i + 1;
    if (c == '"') double_quoted = !double_quoted;
    if (c == '\\' && double_quoted) end = i + 2;
    if (!double_quoted && (c == '\'' || c == '\\')) end = end_of_quoted(written, i);
    if (end == i) ++end;
    result += written.substr(i, end - i);  // up to the end if `end` is npos
    i = std::min(end, written.size());
  }
  return result;
}

std::vector<Argument> Substitution::arguments(const std::vector<Argument>& written, Scope& scope,
                                              const std::string& label, bool undefined_stay) {
  std::vector<Argument> result;
  label_ = label;
  undefined_stay_ = undefined_stay;
  for (size_t i = 0; i < written.size() && !exhausted(); ++i) {
    where_ = written[i].where;
    std::string value = written[i].text;
    if (value.find('$') != value.npos) value = text(value, scope, 0);
    charge(value.size() + sizeof(Argument));
    if (value == written[i].text) {
      result.push_back(written[i]);
      continue;
    }
    Diagnostics mistakes;
    value += "\n)";  // the line ends a comment that a value may have brought
    Lexer lexer(value, "", mistakes);
    std::vector<Argument> parts = lexer.configuration({});
    if (mistakes.ok() && !lexer.at_end()) mistakes.error({}, "')' closes nothing");
    for (const Diagnostic& mistake : mistakes.errors()) error("after substitution: " + mistake.message);
    if (parts.empty() && i + 1 < written.size()) parts.push_back({});  // only a last empty argument is dropped
    for (Argument& part : parts) result.push_back({std::move(part.text), where_});
  }
  return result;
}

}  // namespace heddle::click
