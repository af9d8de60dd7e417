#include "measure/generate/text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/text_file.h"

namespace heddle::bench {

std::vector<std::string_view> words_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  const auto separates = [&](char c) {
    return c == ' ' || ('\t' <= c && c <= '\r') || separators.find(c) != separators.npos;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    while (at < text.size() && !separates(text[at])) ++at;
    if (at != begin) words.push_back(text.substr(begin, at - begin));
    while (at < text.size() && separates(text[at])) ++at;
  }
  return words;
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_ = end == rest_.npos ? "" : rest_.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_;
  return true;
}

void LineReader::fail(const std::string& what) const { throw Error(name_ + ":" + std::to_string(line_) + ": " + what); }

std::string read_file(const std::string& path) {
  errno = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  std::string text;
  char buffer[1 << 16];
  size_t got = 0;
  while (file && (got = std::fread(buffer, 1, sizeof buffer, file.get())) != 0) text.append(buffer, got);
  if (!file || std::ferror(file.get())) throw Error("cannot read '" + path + "': " + std::strerror(errno));
  return std::string(without_byte_order_mark(text));
}

}  // namespace heddle::bench
