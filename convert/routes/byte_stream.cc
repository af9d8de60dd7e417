#include "convert/routes/byte_stream.h"

#include <bzlib.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "core/text_file.h"

namespace heddle::ip_lookup {
namespace {

/** A file as it is. */
class File : public ByteStream {
 public:
  explicit File(const std::string& path) : path_(path), file_(path == "-" ? stdin : std::fopen(path.c_str(), "rb")) {
    if (file_ == nullptr) fail();
  }
  ~File() override {
    if (file_ != stdin) std::fclose(file_);
  }
  size_t read(std::span<uint8_t> out) override {
    size_t size = 0;
    for (; size < out.size() && has_first_; has_first_ = first_at_ < first_size_) out[size++] = first_[first_at_++];
    size += std::fread(out.data() + size, 1, out.size() - size, file_);
    if (std::ferror(file_)) fail();
    return size;
  }
  /** Up to 3 bytes that read() then gives again. */
  std::span<const uint8_t> first() {
    first_size_ = std::fread(first_.data(), 1, first_.size(), file_);
    if (std::ferror(file_)) fail();
    has_first_ = first_size_ > 0 &&
                 !without_byte_order_mark({reinterpret_cast<const char*>(first_.data()), first_size_}).empty();
    return {first_.data(), first_size_};
  }

 private:
  [[noreturn]] void fail() const { throw Error(format("cannot read '%s': %s", path_.c_str(), std::strerror(errno))); }
  std::string path_;
  std::FILE* file_;
  std::array<uint8_t, 3> first_{};
  size_t first_size_ = 0, first_at_ = 0;
  bool has_first_ = false;
};

/** What compressed streams have in common: input in pieces; several compressed streams may follow each other. */
class Compressed : public ByteStream {
 public:
  explicit Compressed(std::unique_ptr<File> file) : file_(std::move(file)) {}

 protected:
  [[noreturn]] static void broken(const char* what) {
    throw Error(format("its %s compression is broken or cut off", what));
  }
  std::span<uint8_t> more() { return std::span(input_).first(file_->read(input_)); }

 private:
  std::unique_ptr<File> file_;
  std::array<uint8_t, 65536> input_;
};

class Gzip : public Compressed {
 public:
  explicit Gzip(std::unique_ptr<File> file) : Compressed(std::move(file)) {
    if (inflateInit2(&state_, 15 + 16) != Z_OK) throw Error("out of memory");
  }
  ~Gzip() override { inflateEnd(&state_); }
  size_t read(std::span<uint8_t> out) override {
    state_.next_out = out.data();
    state_.avail_out = static_cast<unsigned>(out.size());
    while (state_.avail_out > 0) {
      if (state_.avail_in == 0) {
        const auto input = more();
        if (input.empty() && ended_) break;
        if (input.empty()) broken("gzip");
        state_.next_in = input.data();
        state_.avail_in = static_cast<unsigned>(input.size());
      }
      if (ended_) inflateReset(&state_);
      const int result = inflate(&state_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) broken("gzip");
      ended_ = result == Z_STREAM_END;
    }
    return out.size() - state_.avail_out;
  }

 private:
  z_stream state_{};
  bool ended_ = false;
};

class Bzip2 : public Compressed {
 public:
  explicit Bzip2(std::unique_ptr<File> file) : Compressed(std::move(file)) { begin(); }
  ~Bzip2() override { BZ2_bzDecompressEnd(&state_); }
  size_t read(std::span<uint8_t> out) override {
    char* next_out = reinterpret_cast<char*>(out.data());
    auto room = static_cast<unsigned>(out.size());
    while (room > 0) {
      if (input_.empty()) {
        input_ = more();
        if (input_.empty() && ended_) break;
        if (input_.empty()) broken("bzip2");
      }
      if (ended_) {
        BZ2_bzDecompressEnd(&state_);
        begin();
      }
      state_.next_in = reinterpret_cast<char*>(input_.data());
      state_.avail_in = static_cast<unsigned>(input_.size());
      state_.next_out = next_out;
      state_.avail_out = room;
      const int result = BZ2_bzDecompress(&state_);
      if (result != BZ_OK && result != BZ_STREAM_END) broken("bzip2");
      ended_ = result == BZ_STREAM_END;
      input_ = input_.last(state_.avail_in);
      next_out = state_.next_out;
      room = state_.avail_out;
    }
    return out.size() - room;
  }

 private:
  void begin() {
    state_ = {};
    if (BZ2_bzDecompressInit(&state_, 0, 0) != BZ_OK) throw Error("out of memory");
    ended_ = false;
  }
  bz_stream state_{};
  std::span<uint8_t> input_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> open_stream(const std::string& path) {
  auto file = std::make_unique<File>(path);
  const auto first = file->first();
  if (first.size() >= 2 && first[0] == 0x1f && first[1] == 0x8b) return std::make_unique<Gzip>(std::move(file));
  if (first.size() == 3 && std::memcmp(first.data(), "BZh", 3) == 0) return std::make_unique<Bzip2>(std::move(file));
  return file;
}

size_t MemoryStream::read(std::span<uint8_t> out) {
  const size_t size = std::min(out.size(), rest_.size());
  std::copy_n(rest_.begin(), size, out.begin());
  rest_ = rest_.subspan(size);
  return size;
}

}  // namespace heddle::ip_lookup
