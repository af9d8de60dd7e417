#include "core/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/error.h"

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
  return text;
}

}  // namespace heddle
