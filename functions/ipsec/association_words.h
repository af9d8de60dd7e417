#pragma once

#include <arpa/inet.h>
#include <string.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>

#include "click/values.h"
#include "core/error.h"
#include "functions/ipsec/selectors.h"

/** What lines of an association file consist of. */
namespace heddle::ipsec {

/** What is wrong with a line. Quotes nothing that may be a key. */
struct Mistake {
  std::string why;
};

/** The words of a line, one after the other. */
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line.substr(0, line.find('#'))) {}
  /** The next one, "" at the end. */
  std::string_view take() {
    const size_t begin = std::min(rest_.find_first_not_of(" \t\r"), rest_.size());
    const size_t end = std::min(rest_.find_first_of(" \t\r", begin), rest_.size());
    const std::string_view word = rest_.substr(begin, end - begin);
    rest_.remove_prefix(end);
    return word;
  }
  /** The next one, if it is not in parentheses: `ip -s` explains things so, "(160 bits)". */
  std::string_view take_plain() {
    std::string_view word = take();
    while (word.starts_with('(')) {
      while (!word.empty() && !word.ends_with(')')) word = take();
      word = take();
    }
    return word;
  }
  void expect_end() {
    if (!take_plain().empty()) throw Mistake{"something is left over at the end of the line"};
  }

 private:
  std::string_view rest_;
};

/** Whether messages may quote a word: it is a plain one, too short for a key, and no hexadecimal digits of one. */
inline bool may_be_shown(std::string_view word) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == '_'; };
  return word.size() < 16 && std::ranges::all_of(word, plain) &&
         word.find_first_not_of("abcdef-_") != std::string_view::npos;
}

/** A number such as "12", "0x1f,", "0x1f(31)". */
template <class T = uint32_t>
T number_of(std::string_view word, const char* name) {
  word = word.substr(0, word.find('('));
  while (word.ends_with(',')) word.remove_suffix(1);
  const bool hexadecimal = word.starts_with("0x");
  if (hexadecimal) word.remove_prefix(2);
  T value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != word.data() + word.size())
    throw Mistake{format("%s is followed by no number of %zu bits", name, 8 * sizeof(T))};
  return value;
}

/** An address of IPv6; false if it is none. */
inline bool read_six(std::string_view word, void* six) {
  return word.size() < INET6_ADDRSTRLEN && word.find('\0') == word.npos &&
         ::inet_pton(AF_INET6, std::string(word).c_str(), six) == 1;
}

/** An outer address: `six`, as it lies, or, as a number, `four`. Whether it is one of IPv6. */
inline bool read_address(std::string_view word, const char* name, uint32_t& four, uint32_t (&six)[4]) {
  click::Ipv4Address address;
  if (click::parse(word, address)) {
    four = address.value;
    return false;
  }
  if (!read_six(word, six)) throw Mistake{format("%s is followed by no IP address", name)};
  return true;
}

/** A prefix; whether it is one of IPv6. */
inline bool read_prefix(std::string_view word, const char* name, Prefix& prefix) {
  click::Ipv4Prefix four;
  if (click::parse(word, four)) {
    prefix = {mapped(four.address), static_cast<uint8_t>(96 + four.length)};
    return false;
  }
  const size_t slash = word.find('/');
  uint8_t bytes[16];
  if (slash == word.npos || !read_six(word.substr(0, slash), bytes))
    throw Mistake{format("%s is followed by no IP prefix", name)};
  const uint32_t length = number_of(word.substr(slash + 1), name);
  if (length > 128) throw Mistake{format("%s is followed by no IP prefix", name)};
  prefix = {address6(bytes), static_cast<uint8_t>(length)};
  return true;
}

/** Key bytes, which are wiped when nobody needs them any more. */
struct Key {
  uint8_t bytes[64];
  size_t count = 0;
  /** `sizes`: how many it may be. */
  Key(std::string_view word, std::initializer_list<size_t> sizes, const char* what) {
    if (word.starts_with("0x")) word.remove_prefix(2);
    const bool digits = std::ranges::all_of(word, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)); });
    std::string wanted;
    for (const size_t size : sizes) wanted += (wanted.empty() ? "" : " or ") + std::to_string(2 * size);
    if (!digits || word.size() % 2 != 0 || std::ranges::find(sizes, word.size() / 2) == sizes.end())
      throw Mistake{format("%s must be %s hexadecimal digits, with or without 0x before them", what, wanted.c_str())};
    for (; count < word.size() / 2; ++count) {
      const char* at = word.data() + 2 * count;
      std::from_chars(at, at + 2, bytes[count], 16);
    }
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() { explicit_bzero(bytes, sizeof bytes); }
};

}  // namespace heddle::ipsec
