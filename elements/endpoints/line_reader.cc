#include "elements/endpoints/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace heddle {

LineReader::LineReader(const std::string& path) {
  descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  const bool opened = descriptor_ >= 0 && fstat(descriptor_, &status) == 0;
  if (!opened || S_ISDIR(status.st_mode)) {
    const std::string why = opened ? "is a directory" : std::strerror(errno);
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
    throw Error(format("cannot read '%s': %s; name a file, or - for standard input", path.c_str(), why.c_str()));
  }
  regular_ = S_ISREG(status.st_mode);
  if (regular_) size_ = static_cast<uint64_t>(status.st_size);
}

LineReader::~LineReader() {
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
}

LineReader::Got LineReader::next(std::string_view& line, int timeout_ms) {
  for (;;) {
    const void* const newline = std::memchr(buffer_.get() + looked_, '\n', end_ - looked_);
    const bool full = start_ == 0 && end_ == kBufferBytes;
    if (newline != nullptr || full || (ended_ && start_ < end_)) {
      const size_t stop =
          newline != nullptr ? static_cast<size_t>(static_cast<const char*>(newline) - buffer_.get()) : end_;
      line = std::string_view(buffer_.get() + start_, stop - start_);
      const size_t behind = std::min(stop + (newline != nullptr ? 1 : 0), end_);
      position_ += behind - start_;
      start_ = looked_ = behind;
      ++number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      return Got::line;
    }
    if (ended_) return Got::end;
    looked_ = end_;
    if (end_ == kBufferBytes || start_ == end_) {
      std::memmove(buffer_.get(), buffer_.get() + start_, end_ - start_);
      end_ -= start_, looked_ -= start_, start_ = 0;
    }
    pollfd waiting{descriptor_, POLLIN, 0};
    if (!regular_ && poll(&waiting, 1, timeout_ms) <= 0) return Got::nothing_yet;
    const ssize_t got = ::read(descriptor_, buffer_.get() + end_, kBufferBytes - end_);
    if (got > 0) {
      end_ += static_cast<size_t>(got);
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      if (got < 0) problem_ = format("byte %ju: %s", uintmax_t{position_ + (end_ - start_)}, std::strerror(errno));
      ended_ = true;
    }
  }
}

}  // namespace heddle
