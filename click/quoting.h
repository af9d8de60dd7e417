#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::click {

/** White space of the C locale. */
inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/** A character of variable and keyword names: an ASCII letter, a digit or an underscore. */
inline bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/** The text without white space at its ends. */
std::string_view trim(std::string_view text);

/** The position just after the quoted string ("...", '...') or data string (\<...>) that begins at `start`; npos if it
 *  has no end, `start` if none begins there. */
size_t end_of_quoted(std::string_view text, size_t start);

/** What the quoted text means: '...' verbatim, "..." with C escapes and \<hex>, \<hex> also outside quotes; parts side
 *  by side are joined. Text that is not quoted stays as it is. */
std::string unquote(std::string_view text);

/** The words of a text, split at white space outside quotes; the quotes stay. Refers to `text`. */
std::vector<std::string_view> split_words(std::string_view text);

/** The keyword (capitals, digits and underscores, a capital first) with which an argument begins, or "". A keyword is
 *  followed by white space and a value. */
std::string_view leading_keyword(std::string_view argument);

}  // namespace heddle::click
