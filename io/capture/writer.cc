#include "io/capture/writer.h"

#include <unistd.h>

#include <csignal>
#include <system_error>

#include "core/error.h"

namespace heddle::capture {
namespace {

/** A buffer is handed over from this size on: smaller costs system calls, larger falls out of the L2 cache. */
constexpr size_t kFullBytes = 256 << 10;

constexpr size_t kLargestOverheadBytes = wire::kEnhancedPacketBytes + 3;  // of a record, padding included

}  // namespace

Writer::Writer(const std::string& path, const Options& options) : Writer() {
  if (options.snap_length > kMaxCapturedBytes) {
    throw Error(format("snap length %u of '%s' exceeds %u", options.snap_length, path.c_str(), kMaxCapturedBytes));
  }
  if (options.link_type > 0xffff) {
    throw Error(format("link type %u of '%s' exceeds 65535; 1 is Ethernet", options.link_type, path.c_str()));
  }
  path_ = path == "-" ? "standard output" : path;
  format_ = options.format;
  tick_ns_ = options.nanoseconds ? 1 : 1000;
  snap_length_ = options.snap_length == 0 ? kDefaultSnapLength : options.snap_length;
  output_ = std::make_unique<Output>(path, options.owner, options.stopping);
  buffer_bytes_ = kFullBytes + kLargestOverheadBytes + snap_length_;
  for (Buffer& buffer : buffers_) buffer.start = std::make_unique_for_overwrite<uint8_t[]>(buffer_bytes_);
  at_ = buffers_[0].start.get();
  full_ = at_ + kFullBytes;
  write_file_header(options);
  if (options.background) start_thread();
}

void Writer::write_file_header(const Options& options) {
  const auto put32 = [this](uint32_t value) {
    std::memcpy(at_, &value, sizeof(value));
    at_ += sizeof(value);
  };
  const auto put16 = [this](unsigned first, unsigned second) {
    const uint16_t values[2] = {static_cast<uint16_t>(first), static_cast<uint16_t>(second)};
    std::memcpy(at_, values, sizeof(values));
    at_ += sizeof(values);
  };
  const uint8_t* const start = at_;
  if (format_ == Format::pcap) {
    put32(options.nanoseconds ? wire::kPcapNanoseconds : wire::kPcapMicroseconds);
    put16(2, 4);  // version
    put32(0);     // reserved
    put32(0);
    put32(snap_length_);
    put32(options.link_type);
  } else {
    constexpr uint32_t kSectionBytes = 28, kInterfaceBytes = 32;
    put32(wire::kSectionHeader);
    put32(kSectionBytes);
    put32(wire::kByteOrderMagic);
    put16(1, 0);        // version
    put32(UINT32_MAX);  // section length: unknown
    put32(UINT32_MAX);
    put32(kSectionBytes);
    put32(wire::kInterfaceDescription);
    put32(kInterfaceBytes);
    put16(options.link_type, 0);
    put32(snap_length_);
    put16(wire::kOptionResolution, 1);
    const uint8_t resolution[4] = {static_cast<uint8_t>(options.nanoseconds ? 9 : 6), 0, 0, 0};
    std::memcpy(at_, resolution, sizeof(resolution));
    at_ += sizeof(resolution);
    put16(wire::kOptionEnd, 0);
    put32(kInterfaceBytes);
  }
  add(bytes_, static_cast<uint64_t>(at_ - start));
}

/** With all signals blocked: the program's handlers run on the program's threads, and SIGPIPE on none. */
void Writer::start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread(&Writer::drain, this);
  } catch (const std::system_error&) {
    // No thread to be had: write() makes the system calls.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/** Gives the current buffer to the system, or to the thread, and makes the next one current, waiting until it is free.
 */
void Writer::hand_over() {
  Buffer& full = current();
  full.used = static_cast<size_t>(at_ - full.start.get());
  full.packets = packets_.load(std::memory_order_relaxed);
  full.bytes = bytes_.load(std::memory_order_relaxed);
  if (is_final()) {
    // Nothing is written any more.
  } else if (!thread_.joinable()) {
    put(full);
  } else {
    const uint32_t filled = filled_.load(std::memory_order_relaxed) + 1;
    filled_.store(filled, std::memory_order_release);
    filled_.notify_one();
    uint32_t emptied = emptied_.load(std::memory_order_acquire);
    for (; filled - emptied >= kBuffers; emptied = emptied_.load(std::memory_order_acquire)) emptied_.wait(emptied);
  }
  at_ = current().start.get();
  full_ = at_ + kFullBytes;
}

/** The thread: writes buffers in the order handed over, until an empty one. */
void Writer::drain() {
  for (uint32_t next = 0;; ++next) {
    filled_.wait(next, std::memory_order_acquire);
    const Buffer& buffer = buffers_[next % kBuffers];
    if (buffer.used == 0) return;
    put(buffer);
    emptied_.store(next + 1, std::memory_order_release);
    emptied_.notify_one();
  }
}

void Writer::put(const Buffer& buffer) {
  if (failed()) return;
  const size_t done = output_->write({reinterpret_cast<const char*>(buffer.start.get()), buffer.used});
  if (done < buffer.used) {
    // A file ends with a whole record; where this is not a file, what went out cannot be taken back.
    const off_t end = done == 0 ? -1 : lseek(output_->descriptor(), -static_cast<off_t>(done), SEEK_CUR);
    [[maybe_unused]] const int cut = end < 0 ? -1 : ftruncate(output_->descriptor(), end);
    fail(output_->failure());
    return;
  }
  safe_packets_ = buffer.packets;
  safe_bytes_ = buffer.bytes;
}

void Writer::fail(const std::string& reason) {
  failure_ = format("cannot write '%s': %s", path_.c_str(), reason.c_str());
  failed_.store(true, std::memory_order_release);
}

const std::string& Writer::failure() const {
  static const std::string none;
  return failed() ? failure_ : none;
}

bool Writer::flush(bool waits) {
  if (at_ == current().start.get()) return true;
  const bool busy = filled_.load(std::memory_order_relaxed) != emptied_.load(std::memory_order_acquire);
  if (!waits && thread_.joinable() && busy) return false;
  hand_over();
  return true;
}

void Writer::close() {
  if (closed_.load() || !output_) return;
  if (at_ != nullptr) flush();
  if (thread_.joinable()) {
    // A thread that has failed still takes buffers, so that this one comes last.
    current().used = 0;
    filled_.fetch_add(1, std::memory_order_release);
    filled_.notify_one();
    thread_.join();
  }
  if (const int error = output_->close(); error != 0 && !failed()) fail(std::strerror(error));
  closed_.store(true, std::memory_order_release);
}

}  // namespace heddle::capture
