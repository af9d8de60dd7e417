#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace heddle::bench {

/** A number, finite, in base 10 (or 16) if it is an integer, that is all of `text`. */
template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return false;
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}
template <class T>
bool parse_hexadecimal(std::string_view text, T& value) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return false;
  text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/** The words of `text`: what stands between blanks, and the characters in `separators`, too. */
std::vector<std::string_view> words_of(std::string_view text, std::string_view separators = "");

/** A text, line by line, that can say where it is. */
class LineReader {
 public:
  /** `name` goes into messages. The text must live as long as the reader. */
  LineReader(std::string name, std::string_view text) : name_(std::move(name)), rest_(text) {}
  /** False at the end. `line` comes without its end, be it LF or CRLF. */
  bool next(std::string_view& line);
  /** Throws Error "NAME:LINE: WHAT". */
  [[noreturn]] void fail(const std::string& what) const;

 private:
  std::string name_;
  std::string_view rest_;
  int line_ = 0;
};

/** The file as it is; throws Error if it cannot be read. */
std::string read_file(const std::string& path);

}  // namespace heddle::bench
