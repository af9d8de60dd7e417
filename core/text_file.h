#pragma once

// Text files that people write: one route, rule or address a line.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/** The text of a file of at most 1 GiB. Throws Error, which calls it a `kind` ("route file"), if it cannot be read,
 *  holds zero bytes, or does not end. */
std::string read_text_file(const std::string& path, const char* kind);

/** `text` without UTF-8's byte order mark, which some editors write before it. */
std::string_view without_byte_order_mark(std::string_view text);

/** Calls `read` for each line of `text` that is not empty, without the comment, which begins with one of `comments`,
 *  and without the blanks around it. What `read` returns, unless it is "", says what is wrong with the line, and goes
 *  to `errors` as "NAME:LINE: ..."; of more than 100 such lines only their number. */
void read_lines(const std::string& name, std::string_view text, std::string_view comments,
                std::vector<std::string>& errors, const std::function<std::string(std::string_view line)>& read);

constexpr bool is_blank(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }
std::string_view trimmed(std::string_view text);
/** The next word of `text`, which it is cut off from; empty at the end. */
std::string_view take_word(std::string_view& text);
/** All words, of which there are no more than `most`. */
std::vector<std::string_view> words_of(std::string_view text, size_t most = SIZE_MAX);
/** The text in single quotes as error messages show it: shortened when long, control characters as \xNN. */
std::string in_quotes(std::string_view text);

}  // namespace heddle
