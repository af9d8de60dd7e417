#include "core/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/mistakes.h"

namespace heddle {

constexpr size_t kMaxFileBytes = size_t{1} << 30;

std::string read_text_file(const std::string& path, const char* kind) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  std::string text;
  size_t size = 0, got = 1;
  while (file && got > 0) {
    text.resize(std::max(size * 2, size_t{1} << 20));
    got = std::fread(text.data() + size, 1, text.size() - size, file.get());
    if (std::memchr(text.data() + size, '\0', got) != nullptr)
      throw Error(format("'%s' is not a %s: it holds zero bytes; give the path of a text file", path.c_str(), kind));
    size += got;
    if (size > kMaxFileBytes)
      throw Error(format("the %s '%s' does not end within %zu bytes", kind, path.c_str(), kMaxFileBytes));
  }
  if (!file || std::ferror(file.get()))
    throw Error(format("cannot read the %s '%s': %s; give the path of a readable text file", kind, path.c_str(),
                       std::strerror(errno)));
  text.resize(size);
  text.erase(0, text.size() - without_byte_order_mark(text).size());
  return text;
}

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

void read_lines(const std::string& name, std::string_view text, std::string_view comments,
                std::vector<std::string>& errors, const std::function<std::string(std::string_view line)>& read) {
  Mistakes mistakes(name, errors);
  each_line(text, [&](std::string_view line, size_t number) {
    line = trimmed(line.substr(0, line.find_first_of(comments)));
    if (line.empty()) return;
    if (const std::string problem = read(line); !problem.empty()) mistakes.add(number, problem);
  });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view take_word(std::string_view& text) {
  const auto begin = std::ranges::find_if_not(text, is_blank);
  const auto end = std::find_if(begin, text.end(), is_blank);
  text = {end, text.end()};
  return {begin, end};
}

std::vector<std::string_view> words_of(std::string_view text, size_t most) {
  std::vector<std::string_view> words;
  while (words.size() < most) {
    const std::string_view word = take_word(text);
    if (word.empty()) break;
    words.push_back(word);
  }
  return words;
}

// Without numbers of 32 or more hexadecimal digits, which may be keys that nobody may read.
std::string in_quotes(std::string_view text) {
  constexpr size_t kMax = 80, kKeyDigits = 32;  // bytes, digits
  std::string shown;
  while (!text.empty()) {
    const size_t number = std::min(text.find("0x"), text.size());
    const size_t begin = std::min(number + 2, text.size());
    const size_t end = std::min(text.find_first_not_of("0123456789abcdefABCDEF", begin), text.size());
    shown += text.substr(0, begin);
    shown += end - begin < kKeyDigits ? text.substr(begin, end - begin) : "...";
    text.remove_prefix(end);
  }
  std::string result = "'";
  for (const char c : shown.substr(0, kMax)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7f ? format("\\x%02x", byte) : std::string(1, c);
  }
  return result + (shown.size() > kMax ? "...'" : "'");
}

}  // namespace heddle
