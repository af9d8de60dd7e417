#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace heddle {

/** Reads a text file, or a pipe, line by line through a buffer of fixed size. */
class LineReader {
 public:
  enum class Got { line, nothing_yet, end };

  /** "-": standard input. Throws Error when it cannot be opened. */
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /** The next line without its end, valid until the next call. A pipe is waited for up to `timeout_ms`. A line of more
   *  than kBufferBytes is given in pieces. */
  Got next(std::string_view& line, int timeout_ms);

  /** "", or why the file could not be read to its end. */
  const std::string& problem() const { return problem_; }

  uint64_t number() const { return number_; }  ///< of the line last given, from 1
  uint64_t bytes_read() const { return position_; }
  uint64_t size() const { return size_; }  ///< 0: unknown

 private:
  static constexpr size_t kBufferBytes = 1 << 20;
  std::unique_ptr<char[]> buffer_{new char[kBufferBytes]};
  size_t start_ = 0, end_ = 0, looked_ = 0;  // [start_, end_) is unread; no line ends before looked_
  int descriptor_ = -1;
  bool ended_ = false, regular_ = false;
  uint64_t number_ = 0, position_ = 0, size_ = 0;
  std::string problem_;
};

}  // namespace heddle
