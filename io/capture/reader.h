#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "io/capture/mapping.h"
#include "io/capture/record.h"

namespace heddle::capture {

/** Reads a capture from first record to last. Both formats are recognised by their first bytes:
 *
 *  - pcap in both byte orders, with microseconds, nanoseconds or Kuznetzov's longer record headers. A record may be
 *    longer than the header's snap length says, up to max(snap length, kDefaultSnapLength).
 *  - pcapng in both byte orders, with several sections and interfaces, every time resolution and offset; Enhanced,
 *    Simple and the obsolete Packet Blocks are records, other blocks are skipped.
 *
 *  A regular file (also as standard input) is mapped, all else is read through a buffer that grows to the longest
 *  record that really arrives. No input makes it read out of bounds, loop, or allocate more than in proportion to the
 *  input. When another program shortens a mapped file meanwhile, shortened() says so. (Writer refuses to overwrite a
 *  file that a Reader has open.) Not for several threads at once. */
class Reader {
 public:
  /** Whether the constructor reads the header, or start() does. */
  enum class Header : uint8_t { now, later };

  /** Opens `path`, "-" = standard input, and reads up to the first interface. Waits for a pipe's first bytes. Throws
   *  Error, which names the file and a remedy, when it cannot be read, is empty or is no capture. */
  explicit Reader(const std::string& path, Header header = Header::now);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /** With Header::later: reads what the constructor reads otherwise; to be called until it returns true, before
   *  anything else is asked for. False: nothing came within `timeout_ms` (-1: waits), or there is more to read. Throws
   *  Error like the constructor. */
  bool start(int timeout_ms);

  /** Gives the next record; false at the end or at damage, and from then on. `record.data` stays valid while the Reader
   *  lives if mapped(), otherwise until the next call. `record` is undefined after false. Never throws. */
  bool next(Record& record);

  /** Whether next() would return at once: false for a pipe whose next record has not arrived whole within `timeout_ms`,
   *  and where many blocks that hold no record come first, some of which it has passed over. */
  bool ready(int timeout_ms) { return (mapped() && native_pcap_) || ready_slow(timeout_ms); }

  /** Goes on at byte `position`, where a record or block begins, behind what has been read. False: there is no such
   *  place, or, if reaches(position) still holds, a pipe has not come so far within `timeout_ms` of its last bytes. */
  bool skip_to(uint64_t position, int timeout_ms = -1);
  bool reaches(uint64_t position) const {
    return position >= bytes_read() && (mapped() ? position <= size_ : !ended_ || left() > 0);
  }

  /** Whether the input is no regular file, so that reading may wait. */
  bool may_wait() const { return may_wait_; }

  Format file_format() const { return format_; }

  /** LINKTYPE_ of the first interface, to which a pcap's records all belong. Ethernet if a pcapng has no interface. */
  uint32_t link_type() const { return link_type_; }

  /** "", or what is wrong, and where: "record 17 at byte 20480: captured length 70000000 exceeds ...". Records start at
   *  1. Set once next() is false; all records before that point have been given. */
  const std::string& damage() const { return damage_; }

  uint64_t records() const { return records_; }  ///< given so far

  /** Position in the file, in bytes, and the file's size, 0 = unknown (a pipe): for progress. */
  uint64_t bytes_read() const { return window_offset_ + static_cast<uint64_t>(cursor_ - window_); }
  uint64_t size() const { return size_; }

  bool mapped() const { return mapping_ != nullptr; }
  /** Whether the file has been shortened under the Reader's hands: the record given last, or its bytes, may be
   *  wrong. */
  bool shortened() const { return mapping_ != nullptr && mapping_->shortened(); }

 private:
  struct Interface {
    uint32_t link_type, snap_length;
    uint64_t offset_ns;     // added to every time stamp, modulo 2^64
    uint64_t multiplier;    // ns = ticks * multiplier / divisor, one of which is 1
    uint64_t divisor;       // 0: ns = ticks * 10^9 / 2^binary_shift
    uint32_t binary_shift;  // 0..127
  };
  enum class Step { record, other, stop };

  /** How far ahead next() prefetches. Each header says where the next one is, so the processor cannot look ahead by
   *  itself: this halves the time for a mapped file. */
  static constexpr size_t kPrefetchBytes = 4096;

  Reader() = default;  // delegated to, so that ~Reader() runs when opening throws
  void open();
  void read_start();
  void read_file_header();
  bool arrived(size_t bytes, int timeout_ms);
  bool next_arrived(int timeout_ms);
  bool at_packet_block() const;
  bool ready_slow(int timeout_ms);
  size_t header_bytes() const;
  bool fill(size_t wanted);
  bool grow();
  size_t bytes_wanted() const;
  void prefetch() const {
    for (size_t line = 0; line < 4; ++line) __builtin_prefetch(cursor_ + kPrefetchBytes + line * 64);
  }
  size_t left() const { return static_cast<size_t>(end_ - cursor_); }
  uint16_t load16(const uint8_t* from) const;
  uint32_t load32(const uint8_t* from) const;

  bool next_slow(Record& record);
  Step read_pcap_record(Record& record);
  Step read_block(Record& record);
  Step read_packet_block(uint32_t type, uint32_t length, Record& record);
  Step read_simple_packet(uint32_t length, Record& record);
  Step read_interface(uint32_t length);
  Step stop(const std::string& damage);

  // What the fast path uses, together.
  const uint8_t* cursor_ = nullptr;  // next unread byte
  const uint8_t* end_ = nullptr;     // end of what is in memory
  bool native_pcap_ = false;         // records are as the fast path expects
  uint32_t max_captured_ = 0;
  uint32_t fraction_ns_ = 1;  // unit of a pcap time stamp's second half
  uint32_t link_type_ = kLinkTypeEthernet;
  size_t record_header_bytes_ = wire::kPcapRecordHeaderBytes;
  uint64_t records_ = 0;

  const uint8_t* window_ = nullptr;  // start of what is in memory
  uint64_t window_offset_ = 0;       // its position in the file
  uint64_t size_ = 0;
  std::unique_ptr<Mapping> mapping_;
  std::unique_ptr<uint8_t[]> buffer_;
  size_t buffer_bytes_ = 0;
  int descriptor_ = -1;
  bool owns_descriptor_ = false, ended_ = false, stopped_ = false;
  bool swap_ = false, old_lengths_ = false;
  Format format_ = Format::pcap;
  std::vector<Interface> interfaces_;  // of the current section
  bool has_link_type_ = false;
  bool may_wait_ = false;
  bool begun_ = false, started_ = false;  // the file's or section's header has been read; the first interface, too
  std::string path_, damage_;
};

inline bool Reader::next(Record& record) {
  if (native_pcap_ && left() >= record_header_bytes_) [[likely]] {
    uint32_t header[4];  // seconds, fraction, captured, original
    std::memcpy(header, cursor_, sizeof(header));
    if (header[2] <= max_captured_ && header[2] <= left() - record_header_bytes_) [[likely]] {
      record.data = cursor_ + record_header_bytes_;
      record.captured = header[2];
      record.original = header[3];
      record.timestamp_ns = header[0] * uint64_t{1000000000} + header[1] * uint64_t{fraction_ns_};
      record.link_type = link_type_;
      prefetch();
      cursor_ = record.data + header[2];
      ++records_;
      return true;
    }
  }
  return next_slow(record);
}

}  // namespace heddle::capture
