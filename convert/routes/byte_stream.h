#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace heddle::ip_lookup {

/** Bytes that are read once, from the first to the last. */
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /** Fills `out` from its start; returns how many bytes, fewer than it holds only at the end. Throws Error when the
   * file cannot be read or its compression is broken. */
  virtual size_t read(std::span<uint8_t> out) = 0;
};

/** Opens a file, "-" for standard input; undoes gzip or bzip2 on the way, whichever its first bytes show. Throws
 *  Error. */
std::unique_ptr<ByteStream> open_stream(const std::string& path);

/** Bytes in memory, which must outlive it. */
class MemoryStream : public ByteStream {
 public:
  explicit MemoryStream(std::span<const uint8_t> bytes) : rest_(bytes) {}
  size_t read(std::span<uint8_t> out) override;

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace heddle::ip_lookup
