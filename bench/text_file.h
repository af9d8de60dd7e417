#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/error.h"

namespace heddle::bench {

/** A file in /tmp that only the user of this program may read, and that is gone when this is. Throws Error if it cannot
 *  be written. */
class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    const int file = ::mkstemp(path_);
    if (file < 0) throw Error("cannot make a file in /tmp");
    const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    ::close(file);
    if (written) return;
    ::unlink(path_);
    throw Error(std::string("cannot write ") + path_);
  }
  ~TextFile() { ::unlink(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/heddle-bench-XXXXXX";
};

}  // namespace heddle::bench
