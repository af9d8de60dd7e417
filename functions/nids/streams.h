#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "functions/nids/match.h"

namespace heddle::nids {

/** What of a TCP segment (RFC 9293, 3.1) says where its payload belongs. */
struct TcpSegment {
  uint32_t sequence;  ///< host byte order
  bool syn, fin, rst;
  std::span<const uint8_t> payload;
};

/** Puts the segments of TCP connections in order, each direction by itself, for one thread. Of each direction the last
 *  kWindowBytes are kept, and what came before its turn, in blocks that are made at the start.
 *
 *  Where segments overlap, bytes that were in order count, then those of the segment that begins first. A direction
 *  without a SYN begins with its first segment. A SYN with another number begins it anew where no data has come yet, or
 *  behind a FIN or RST that is in order; else the hosts ignore it (RFC 9293, 3.10.7.4), and so does this.
 *
 *  If what is missing does not come until kMaxHeld blocks or half of the memory wait behind it, or kMaxHeld segments
 *  have come that are too far ahead to be kept, it is given up, and the direction goes on behind it. Should it come
 *  after all before kRegretBytes have been followed there, the direction goes back: segments that no host takes do not
 *  lead away from what it does take. */
class Streams {
 public:
  static constexpr uint32_t kWindowBytes = 2032, kMaxHeld = 64;
  static constexpr int32_t kMaxAhead = kMaxHeld * kWindowBytes;
  static constexpr uint32_t kRegretBytes = 1 << 20;
  static constexpr size_t kLongestWindow = kWindowBytes + kMaxPacketBytes + kMaxAhead;

  /** `memory_bytes`: of blocks; `directions`: at once. */
  Streams(size_t memory_bytes, size_t directions);

  /** Takes a segment of the direction that `word` names; 0: a new one, which gets a name. The window has what is in
   *  order by now, and was not before, and the bytes in front of it; it is empty if there is nothing new. Valid until
   *  the next call. */
  Window take(uint64_t& word, const TcpSegment& segment);
  /** What has been said of all that the direction says until its next connection; 0: nothing. */
  void set_verdict(uint64_t word, uint8_t verdict) { streams_[word - 1].verdict = verdict; }
  uint8_t verdict(uint64_t word) const { return streams_[word - 1].verdict; }
  /** Whether no more bytes come, as a FIN or RST is in order. */
  bool closed(uint64_t word) const { return streams_[word - 1].closed; }
  /** The direction is over. */
  void end(uint64_t word);

  uint64_t gaps() const { return gaps_; }  ///< that were given up
  /** Segments with bytes that were in no window, for want of memory or because they were too far ahead. */
  uint64_t unfollowed() const { return unfollowed_; }
  uint32_t blocks_used() const { return used_; }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Block {
    uint32_t next, sequence;
    uint32_t length, reserved;
    uint8_t bytes[kWindowBytes];
  };
  static_assert(sizeof(Block) == 2048);
  /** Where a direction goes on: `next`, which is `offset` bytes behind its beginning, behind what block `tail` has. */
  struct Place {
    uint64_t offset = 0;
    uint32_t next = 0;
    uint32_t tail = kNone;
  };
  struct Stream {
    Place at;
    Place gap;                                              // the first that was given up of late, if has_gap
    uint32_t since_gap = 0;                                 // bytes that have been followed since
    uint32_t begin = 0;                                     // sequence number of the first byte
    uint32_t end = 0;                                       // that of the one behind the last, if has_end
    uint32_t held = kNone;                                  // by sequence number
    uint32_t closed_before = kNone, closed_behind = kNone;  // of the list of closed ones
    uint8_t verdict = 0;
    uint8_t held_count = 0, far_count = 0;
    bool has_gap = false, has_end = false, closed = false;
  };

  /** kNone: all are in use, and no closed direction has one. */
  uint32_t take_block();
  void give_back(uint32_t& block);
  void forget_held(Stream& stream);
  void forget_gap(Stream& stream);
  void begin(Stream& stream, uint32_t sequence);
  void set_closed(uint32_t number, bool closed);
  /** Gives up what is missing before this. */
  void skip_to(Stream& stream, uint32_t sequence);
  void go_back(Stream& stream);
  /** Keeps a piece until what is before it has come. False: no room. */
  bool hold(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes);
  /** Whether something of the segment is in order, perhaps because what is before it has been given up. */
  bool is_next(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes);
  /** Appends to the window what of these bytes comes next. */
  void append(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes);
  void append_held(Stream& stream);
  /** Keeps the end of the window. */
  void keep_tail(Stream& stream);

  HugePages memory_;
  uint32_t count_;  // of blocks
  Block* blocks_;
  uint32_t free_ = kNone, used_ = 0, held_ = 0;
  std::vector<Stream> streams_;  // [word - 1]
  std::vector<uint32_t> free_streams_;
  uint32_t first_closed_ = kNone, last_closed_ = kNone;  // whose blocks are taken first
  std::vector<uint8_t> window_;
  uint64_t gaps_ = 0, unfollowed_ = 0;
};

}  // namespace heddle::nids
