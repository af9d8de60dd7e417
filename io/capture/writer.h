#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "io/capture/output_file.h"
#include "io/capture/record.h"

namespace heddle::capture {

/** Writes a capture in this machine's byte order. write() copies a packet into a buffer; a thread of the Writer's own
 *  makes the system calls, so that a slow disk delays the caller only once all buffers are full. One thread at a time
 *  may call write(), flush() and close(); the others may be called from any thread. */
class Writer {
 public:
  using Format = capture::Format;

  struct Options {
    Format format = Format::pcap;
    bool nanoseconds = true;  ///< unit of the time stamps; false = microseconds, rounded down
    uint32_t link_type = kLinkTypeEthernet;
    uint32_t snap_length = kDefaultSnapLength;  ///< longer packets are cut to it; 0 = kDefaultSnapLength
    /** Whether a thread makes the system calls, otherwise write() does. The thread inherits the CPU affinity of the one
     *  that makes the Writer: make it before that one is pinned to a core that polls. */
    bool background = true;
    std::string owner = "another writer";  ///< what errors of others that want to write there call this one
    std::function<bool()> stopping{};      ///< whether the program is to end; as of Output
  };

  /** Creates or overwrites `path`, "-" = standard output. Throws Error, which names the path and a remedy, when it
   *  cannot be written, when a Reader or another Writer has it open, or when the options are impossible. */
  Writer(const std::string& path, const Options& options);
  ~Writer() { close(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /** Appends a packet of `captured` bytes at `data`, which is copied, and which had `original` bytes on the wire.
   *  `timestamp_ns` counts from 1970-01-01 UTC; pcap wraps in 2106. May wait for the disk, or for whoever reads a pipe.
   *  Never throws: see failed(). */
  void write(const uint8_t* data, uint32_t captured, uint32_t original, uint64_t timestamp_ns);

  /** The same. A record of another link type than the Writer's is not converted. */
  void write(const Record& record) { write(record.data, record.captured, record.original, record.timestamp_ns); }

  /** Hands what is buffered to the system without waiting until it is there. For readers of a pipe: otherwise they see
   *  packets only in blocks of a buffer. May wait as write(), or, with `waits` false, returns false while the system
   *  has not taken all that it was handed before. */
  bool flush(bool waits = true);

  /** As Output::set_stopping(). */
  void set_stopping(std::function<bool()> stopping) { output_->set_stopping(std::move(stopping)); }

  /** Writes what is buffered, waits until that is done and closes the file. Then failed() is final. Packets written
   *  later are lost. */
  void close();

  /** Whether writing failed (full disk, closed pipe, or one that nobody reads while the program is to end) and why.
   *  Nothing is written from then on and packets are lost. A regular file is cut back to its last whole buffer. SIGPIPE
   *  does not arise, unless `background` is false. */
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  const std::string& failure() const;

  /** Packets in the file, including those on their way while nothing has failed; and those that never will be. */
  uint64_t written_packets() const { return is_final() ? safe_packets_.load() : packets_.load(); }
  uint64_t lost_packets() const {
    const uint64_t written = written_packets();  // first: packets_ only grows
    return packets_.load() - written;
  }

  /** Bytes in the file, headers included, counted like written_packets(). */
  uint64_t written_bytes() const { return is_final() ? safe_bytes_.load() : bytes_.load(); }

 private:
  struct Buffer {
    std::unique_ptr<uint8_t[]> start;
    size_t used = 0;                  // 0 when handed over: the thread ends
    uint64_t packets = 0, bytes = 0;  // the Writer's totals when it was handed over
  };
  static constexpr uint32_t kBuffers = 4;

  Writer() = default;  // delegated to, so that ~Writer() runs when opening throws
  void write_file_header(const Options& options);
  void start_thread();
  void hand_over();
  void drain();
  void put(const Buffer& buffer);
  void fail(const std::string& reason);
  bool is_final() const { return closed_.load(std::memory_order_acquire) || failed(); }
  Buffer& current() { return buffers_[filled_.load(std::memory_order_relaxed) % kBuffers]; }
  static void add(std::atomic<uint64_t>& counter, uint64_t number) {  // one thread adds: no locked instruction
    counter.store(counter.load(std::memory_order_relaxed) + number, std::memory_order_relaxed);
  }

  // What write() uses, together.
  uint8_t* at_ = nullptr;          // end of the current buffer's content
  const uint8_t* full_ = nullptr;  // from here on the buffer is handed over; the longest record fits behind it
  uint32_t snap_length_ = 0;
  uint32_t tick_ns_ = 1;  // unit of the time stamps
  Format format_ = Format::pcap;
  std::atomic<uint64_t> packets_ = 0, bytes_ = 0;  // given to write(), and their bytes in the file

  Buffer buffers_[kBuffers];
  size_t buffer_bytes_ = 0;
  alignas(64) std::atomic<uint32_t> filled_ = 0;             // buffers handed over, modulo 2^32
  alignas(64) std::atomic<uint32_t> emptied_ = 0;            // of those, buffers that the thread is done with
  std::atomic<uint64_t> safe_packets_ = 0, safe_bytes_ = 0;  // the system has taken them
  std::atomic<bool> failed_ = false, closed_ = false;
  std::unique_ptr<Output> output_;
  std::string path_, failure_;  // failure_ is written once, before failed_
  std::thread thread_;
};

inline void Writer::write(const uint8_t* data, uint32_t captured, uint32_t original, uint64_t timestamp_ns) {
  constexpr uint32_t kSecondNs = 1000000000;
  captured = std::min(captured, snap_length_);
  uint8_t* const start = at_;
  if (format_ == Format::pcap) {
    const uint32_t header[4] = {static_cast<uint32_t>(timestamp_ns / kSecondNs),
                                static_cast<uint32_t>(timestamp_ns % kSecondNs) / tick_ns_, captured, original};
    std::memcpy(start, header, sizeof(header));
    std::memcpy(start + sizeof(header), data, captured);
    at_ += sizeof(header) + captured;
  } else {
    const uint64_t ticks = tick_ns_ == 1 ? timestamp_ns : timestamp_ns / tick_ns_;
    const uint32_t padded = (captured + 3) & ~3u;
    const uint32_t length = static_cast<uint32_t>(wire::kEnhancedPacketBytes) + padded;
    const uint32_t header[7] = {wire::kEnhancedPacket,        length,   0,       static_cast<uint32_t>(ticks >> 32),
                                static_cast<uint32_t>(ticks), captured, original};
    const uint32_t zero = 0;
    std::memcpy(start, header, sizeof(header));
    std::memcpy(start + sizeof(header), data, captured);
    std::memcpy(start + sizeof(header) + captured, &zero, sizeof(zero));  // its last bytes are overwritten
    std::memcpy(start + length - sizeof(length), &length, sizeof(length));
    at_ += length;
  }
  add(packets_, 1);
  add(bytes_, static_cast<uint64_t>(at_ - start));
  if (at_ >= full_) [[unlikely]]
    hand_over();
}

}  // namespace heddle::capture
