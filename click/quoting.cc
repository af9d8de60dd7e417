#include "click/quoting.h"

#include <algorithm>
#include <utility>

namespace heddle::click {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/** The position behind the comment that begins at `at`; `at` if none does. */
size_t end_of_comment(std::string_view text, size_t at) {
  const bool line = text.substr(at, 2) == "//";
  if (!line && text.substr(at, 2) != "/*") return at;
  const size_t end = line ? text.find('\n', at) : text.find("*/", at + 2);
  return end == text.npos ? text.size() : line ? end + 1 : end + 2;
}

/** The position of the ">" that ends a data string, or npos; `at` is within it. Its comments may have others. */
size_t end_of_data(std::string_view text, size_t at) {
  while (at < text.size() && text[at] != '>') {
    const size_t behind = end_of_comment(text, at);
    at = behind > at ? behind : at + 1;
  }
  return at < text.size() ? at : text.npos;
}

/** The bytes of a data string, given without its "\<" and ">". */
std::string data_bytes(std::string_view digits) {
  std::string bytes;
  int high = -1;
  for (size_t i = 0; i < digits.size();) {
    if (const size_t behind = end_of_comment(digits, i); behind > i) {
      i = behind;
      continue;
    }
    const int digit = hex_digit(digits[i++]);
    if (digit < 0) continue;
    if (high >= 0) bytes += static_cast<char>(high << 4 | digit);
    high = high < 0 ? digit : -1;
  }
  if (high >= 0) bytes += static_cast<char>(high << 4);  // Click's reading of an odd number of digits
  return bytes;
}

/** Appends the meaning of the character or escape at `at`, inside double quotes; returns the position after it. */
size_t append_meaning(std::string_view text, size_t at, std::string& result) {
  if (text[at] != '\\' || at + 1 == text.size()) {
    result += text[at];
    return at + 1;
  }
  const char c = text[at + 1];
  size_t next = at + 2;
  constexpr std::string_view kLetters = "abtnvfr", kMeanings = "\a\b\t\n\v\f\r";
  if (const size_t letter = kLetters.find(c); letter != kLetters.npos) {
    result += kMeanings[letter];
  } else if (c >= '0' && c <= '7') {
    unsigned value = 0;
    for (next = at + 1; next < text.size() && next < at + 4 && text[next] >= '0' && text[next] <= '7'; ++next)
      value = value * 8 + static_cast<unsigned>(text[next] - '0');
    result += static_cast<char>(value);
  } else if (c == 'x' && next < text.size() && hex_digit(text[next]) >= 0) {
    unsigned value = 0;
    for (; next < text.size() && hex_digit(text[next]) >= 0; ++next)
      value = (value << 4 | static_cast<unsigned>(hex_digit(text[next]))) & 0xff;
    result += static_cast<char>(value);
  } else if (c == '<') {
    const size_t end = std::min(end_of_data(text, next), text.size());
    result += data_bytes(text.substr(next, end - next));
    next = std::min(end + 1, text.size());
  } else if (c == '\r' && next < text.size() && text[next] == '\n') {
    ++next;
  } else if (c != '\n' && c != '\r') {
    result += c;
  }
  return next;
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

size_t end_of_quoted(std::string_view text, size_t start) {
  const auto after = [&](char c) {
    const size_t found = text.find(c, start + 1);
    return found == text.npos ? found : found + 1;
  };
  if (text[start] == '\'') return after('\'');
  if (text[start] == '\\' && start + 1 < text.size() && text[start + 1] == '<') {
    const size_t end = end_of_data(text, start + 2);
    return end == text.npos ? end : end + 1;
  }
  if (text[start] != '"') return start;
  for (size_t i = start + 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return text.npos;
}

std::string unquote(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t end = end_of_quoted(text, i);
    if (end == i || end == text.npos) {
      result += text[i++];
      continue;
    }
    if (text[i] == '\'') {
      result += text.substr(i + 1, end - i - 2);
    } else if (text[i] == '\\') {
      result += data_bytes(text.substr(i + 2, end - i - 3));
    } else {
      for (size_t j = i + 1; j < end - 1;) j = append_meaning(text.substr(0, end - 1), j, result);
    }
    i = end;
  }
  return result;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t i = 0; i < text.size();) {
    if (is_space(text[i])) {
      ++i;
      continue;
    }
    const size_t start = i;
    while (i < text.size() && !is_space(text[i])) {
      const size_t end = end_of_quoted(text, i);
      i = end == i ? i + 1 : std::min(end, text.size());
    }
    words.push_back(text.substr(start, i - start));
  }
  return words;
}

std::string_view leading_keyword(std::string_view argument) {
  size_t length = 0;
  while (length < argument.size() && is_word_character(argument[length]) &&
         !(argument[length] >= 'a' && argument[length] <= 'z'))
    ++length;
  const bool keyword = length > 0 && length < argument.size() && argument[0] >= 'A' && is_space(argument[length]);
  return keyword && argument[0] != '_' ? argument.substr(0, length) : "";
}

}  // namespace heddle::click
