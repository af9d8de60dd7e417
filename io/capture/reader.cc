#include "io/capture/reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>

#include "core/error.h"

namespace heddle::capture {
namespace {

constexpr size_t kFirstBufferBytes = 1 << 20;
constexpr int kMaxBlocksPassed = 64;  // by one ready()

/** What reads the start of a file that is no capture tells its user. */
std::string not_a_capture(const std::string& path, const uint8_t* start, size_t bytes) {
  struct Compression {
    const char *magic, *name, *program;
  };
  for (const Compression& known : {Compression{"\x1f\x8b", "gzip", "zcat"},
                                   {"\x28\xb5\x2f\xfd", "zstd", "zstdcat"},
                                   {"\xfd\x37zX", "xz", "xzcat"},
                                   {"BZh", "bzip2", "bzcat"}}) {
    const size_t length = std::strlen(known.magic);
    if (bytes >= length && std::memcmp(start, known.magic, length) == 0) {
      return format(
          "'%s' is compressed with %s; decompress it into a pipe, %s FILE | heddle ..., and let the chain read "
          "that by the name -, as in FromDump(-)",
          path.c_str(), known.name, known.program);
    }
  }
  std::string first;
  for (size_t i = 0; i < bytes; ++i) first += format(" %02x", start[i]);
  return format("'%s' is not a capture: it starts with%s; expected pcap or pcapng (editcap converts other formats)",
                path.c_str(), first.c_str());
}

}  // namespace

Reader::Reader(const std::string& path, Header header) : Reader() {
  path_ = path;
  open();
  while (header == Header::now && !start(-1)) continue;
}

Reader::~Reader() {
  if (owns_descriptor_) ::close(descriptor_);
}

void Reader::open() {
  const std::string& path = path_;
  // A named pipe is open at once, whether or not somebody writes there.
  descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  owns_descriptor_ = path != "-" && descriptor_ >= 0;
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    throw Error(format("cannot read '%s': %s; name a pcap or pcapng file, or - for standard input", path.c_str(),
                       std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) throw Error(format("'%s' is a directory; name a capture file in it", path.c_str()));
  may_wait_ = !S_ISREG(status.st_mode);
  if (may_wait_) return;
  size_ = static_cast<uint64_t>(status.st_size);
  // Tells a Writer not to truncate what is mapped here. Whether it is granted does not matter to the Reader.
  if (owns_descriptor_) flock(descriptor_, LOCK_SH | LOCK_NB);
  const off_t start = lseek(descriptor_, 0, SEEK_CUR);
  if (start < 0 || start >= status.st_size) return;  // read() will find it empty
  mapping_ = Mapping::make(descriptor_, size_);
  if (!mapping_) return;  // it is read through the buffer
  window_ = mapping_->data();
  cursor_ = window_ + start;
  end_ = window_ + size_;
}

/** Makes `wanted` bytes readable at the cursor, moving them in memory where needed; false at the end of the input. */
bool Reader::fill(size_t wanted) {
  if (left() >= wanted) return true;
  if (mapped() || ended_) return false;
  window_offset_ += static_cast<uint64_t>(cursor_ - window_);
  const size_t kept = left();
  if (kept > 0) std::memmove(buffer_.get(), cursor_, kept);
  window_ = cursor_ = buffer_.get();
  end_ = window_ + kept;
  while (left() < wanted) {
    if (left() == buffer_bytes_ && !grow()) return false;
    const ssize_t got = ::read(descriptor_, buffer_.get() + left(), buffer_bytes_ - left());
    if (got > 0) {
      end_ += got;
    } else if (got < 0 && errno == EAGAIN) {
      pollfd waiting{descriptor_, POLLIN, 0};
      poll(&waiting, 1, -1);
    } else if (got == 0 || errno != EINTR) {
      if (got < 0) damage_ = format("byte %ju: %s", uintmax_t{window_offset_ + left()}, std::strerror(errno));
      ended_ = true;
      return false;
    }
  }
  return true;
}

/** How many bytes the next record or block takes, as far as what has arrived of it tells. */
size_t Reader::bytes_wanted() const {
  const bool pcap = format_ == Format::pcap;
  const size_t header = pcap ? record_header_bytes_ : wire::kBlockFrameBytes;
  if (left() < header) return header;
  size_t length = pcap ? header + load32(cursor_ + 8) : load32(cursor_ + 4);
  if (!pcap && load32(cursor_) == wire::kSectionHeader) {  // in a byte order of its own
    uint32_t magic;
    std::memcpy(&magic, cursor_ + wire::kBlockHeaderBytes, sizeof magic);
    std::memcpy(&length, cursor_ + 4, sizeof(uint32_t));
    if (magic != wire::kByteOrderMagic) length = __builtin_bswap32(static_cast<uint32_t>(length));
  }
  return length > kMaxCapturedBytes ? header : length;  // next() calls that damage
}

/** Whether `bytes` lie at the cursor, or the input has ended before, within `timeout_ms` from any of them to the
 *  next. */
bool Reader::arrived(size_t bytes, int timeout_ms) {
  while (!mapped() && !ended_ && left() < bytes) {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (poll(&waiting, 1, timeout_ms) <= 0) return false;
    fill(left() + 1);
  }
  return true;
}

/** Whether the next record or block lies at the cursor whole, or the input has ended before. */
bool Reader::next_arrived(int timeout_ms) {
  for (size_t wanted = 0; !stopped_ && wanted != bytes_wanted();) {
    wanted = bytes_wanted();
    if (!arrived(wanted, timeout_ms)) return false;
  }
  return true;
}

/** Of a pcapng; also where the input has ended. */
bool Reader::at_packet_block() const {
  if (left() < wire::kBlockFrameBytes) return true;
  const uint32_t type = load32(cursor_);
  return type == wire::kSimplePacket || type == wire::kObsoletePacket || type == wire::kEnhancedPacket;
}

bool Reader::ready_slow(int timeout_ms) {
  for (int passed = 0; passed < kMaxBlocksPassed; ++passed) {
    if (!next_arrived(timeout_ms)) return false;
    Record none;
    if (format_ == Format::pcap || stopped_ || at_packet_block() || read_block(none) != Step::other) return true;
  }
  return false;
}

/** How many bytes the header takes up to the first interface or packet, as far as what has arrived of it tells. */
size_t Reader::header_bytes() const {
  if (left() < 4) return 4;
  return load32(cursor_) == wire::kSectionHeader ? bytes_wanted() : wire::kPcapFileHeaderBytes;
}

/** Doubles a full buffer. It is full of bytes that arrived, so memory follows the input and not what the input claims.
 */
bool Reader::grow() {
  const size_t bytes = std::max(buffer_bytes_ * 2, kFirstBufferBytes);
  std::unique_ptr<uint8_t[]> larger(new (std::nothrow) uint8_t[bytes]);
  if (!larger) {
    damage_ = format("byte %ju: no memory for a record of more than %zu bytes", uintmax_t{bytes_read()}, buffer_bytes_);
    ended_ = true;
    return false;
  }
  const size_t kept = left();
  if (kept > 0) std::memcpy(larger.get(), cursor_, kept);
  buffer_ = std::move(larger);
  buffer_bytes_ = bytes;
  window_ = cursor_ = buffer_.get();
  end_ = window_ + kept;
  return true;
}

uint16_t Reader::load16(const uint8_t* from) const {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return swap_ ? __builtin_bswap16(value) : value;
}

uint32_t Reader::load32(const uint8_t* from) const {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return swap_ ? __builtin_bswap32(value) : value;
}

bool Reader::start(int timeout_ms) {
  if (!begun_) {
    format_ = Format::pcapng;  // for bytes_wanted(), until the first bytes are there
    for (size_t wanted = 0; wanted != header_bytes();) {
      wanted = header_bytes();
      if (!arrived(wanted, timeout_ms)) return false;
    }
    begun_ = true;
    read_start();
  }
  // A packet cannot come before the first interface, so none is lost here. Damage is next()'s to tell.
  Record none;
  for (int passed = 0; format_ == Format::pcapng && !started_ && interfaces_.empty(); ++passed) {
    if (passed == kMaxBlocksPassed || !next_arrived(timeout_ms)) return false;
    started_ = at_packet_block() || read_block(none) != Step::other;
  }
  return started_ = true;
}

void Reader::read_start() {
  fill(4);
  const char* const path = path_.c_str();
  if (!damage_.empty()) throw Error(format("cannot read '%s': %s", path, damage_.c_str()));
  if (left() == 0) throw Error(format("'%s' is empty; expected a pcap or pcapng capture", path));
  if (left() < 4) throw Error(not_a_capture(path_, cursor_, left()));
  if (load32(cursor_) != wire::kSectionHeader) return read_file_header();
  Record none;
  if (read_block(none) == Step::stop) throw Error(format("'%s': %s", path, damage_.c_str()));
}

/** pcap's file header (draft-ietf-opsawg-pcap, section 4). */
void Reader::read_file_header() {
  const std::string& path = path_;
  format_ = Format::pcap;
  uint32_t magic = 0;
  for (const bool swapped : {false, true}) {
    swap_ = swapped;
    magic = load32(cursor_);
    if (magic == wire::kPcapMicroseconds || magic == wire::kPcapNanoseconds || magic == wire::kPcapModified) break;
    if (swapped) throw Error(not_a_capture(path, cursor_, 4));
  }
  if (!fill(wire::kPcapFileHeaderBytes)) {
    throw Error(format("'%s' ends after %zu of the %zu bytes of a pcap header; capture it again", path.c_str(), left(),
                       wire::kPcapFileHeaderBytes));
  }
  const unsigned major = load16(cursor_ + 4), minor = load16(cursor_ + 6);
  if (major != 2) {
    throw Error(format("'%s' is a pcap of version %u.%u; expected version 2.4 (editcap rewrites it)", path.c_str(),
                       major, minor));
  }
  old_lengths_ = minor < 4;
  native_pcap_ = !swap_ && !old_lengths_;
  fraction_ns_ = magic == wire::kPcapNanoseconds ? 1 : 1000;
  if (magic == wire::kPcapModified) record_header_bytes_ = wire::kPcapModifiedRecordHeaderBytes;
  max_captured_ = std::clamp(load32(cursor_ + 16), kDefaultSnapLength, kMaxCapturedBytes);
  link_type_ = load32(cursor_ + 20) & 0xffff;  // the upper half says how long the FCS is
  cursor_ += wire::kPcapFileHeaderBytes;
}

bool Reader::skip_to(uint64_t position, int timeout_ms) {
  if (!reaches(position)) return false;
  while (position > bytes_read()) {
    if (left() == 0 && (!arrived(1, timeout_ms) || left() == 0)) return false;
    cursor_ += std::min<uint64_t>(left(), position - bytes_read());
  }
  return true;
}

/** Ends reading: `damage` stays unless fill() has already said something worse. */
Reader::Step Reader::stop(const std::string& damage) {
  stopped_ = true;
  native_pcap_ = false;
  if (damage_.empty() && !damage.empty()) {
    damage_ = format("record %ju at byte %ju: %s", uintmax_t{records_ + 1}, uintmax_t{bytes_read()}, damage.c_str());
  }
  return Step::stop;
}

bool Reader::next_slow(Record& record) {
  Step step = Step::other;
  while (step == Step::other && !stopped_) {
    step = format_ == Format::pcap ? read_pcap_record(record) : read_block(record);
  }
  if (step != Step::record) return false;
  ++records_;
  return true;
}

Reader::Step Reader::read_pcap_record(Record& record) {
  if (!fill(record_header_bytes_)) {
    if (left() == 0) return stop("");
    return stop(format("the file ends after %zu of the %zu bytes of a record header", left(), record_header_bytes_));
  }
  uint32_t captured = load32(cursor_ + 8), original = load32(cursor_ + 12);
  if (old_lengths_ && captured > original) std::swap(captured, original);  // before version 2.4 the order was not sure
  if (captured > max_captured_) {
    return stop(format("captured length %u exceeds the longest that this file can hold, %u", captured, max_captured_));
  }
  if (!fill(record_header_bytes_ + captured)) {
    return stop(format("the file ends after %zu of the %u bytes captured", left() - record_header_bytes_, captured));
  }
  record.data = cursor_ + record_header_bytes_;
  record.captured = captured;
  record.original = original;
  record.timestamp_ns = load32(cursor_) * uint64_t{1000000000} + load32(cursor_ + 4) * uint64_t{fraction_ns_};
  record.link_type = link_type_;
  cursor_ += record_header_bytes_ + captured;
  return Step::record;
}

}  // namespace heddle::capture
