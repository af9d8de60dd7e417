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
  bool syn, fin;
  std::span<const uint8_t> payload;
};

/** Puts the segments of TCP connections in order, each direction by itself, for one thread. Of each direction the last
 *  kWindowBytes are kept, and what came before its turn, in blocks that are made at the start.
 *
 *  Where segments overlap, bytes that were in order count, then those of the segment that begins first. A direction without a
 *  SYN begins with its first segment. If what is missing does not come until kMostHeld blocks or the thread's memory are full,
 *  it is given up, and the direction goes on behind it. */
class Streams {
 public:
  static constexpr uint32_t kWindowBytes = 2032, kMostHeld = 64;

  explicit Streams(size_t memory_bytes);

  /** Takes a segment of the direction that `word` names; 0: a new one, which gets a name. The window has what is in order by
   *  now, and was not before, and the bytes in front of it; it is empty if there is nothing new. Valid until the next call. */
  Window take(uint64_t& word, const TcpSegment& segment);
  /** The direction is over. */
  void end(uint64_t word);

  uint64_t gaps() const { return gaps_; }              ///< that were given up
  uint64_t unfollowed() const { return unfollowed_; }  ///< segments for whose direction there was no memory
  uint32_t blocks_used() const { return used_; }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Block {
    uint32_t next, sequence;
    uint32_t length, reserved;
    uint8_t bytes[kWindowBytes];
  };
  static_assert(sizeof(Block) == 2048);
  struct Stream {
    uint64_t offset = 0;  // of what comes next, from where the direction began
    uint32_t next = 0;    // its sequence number
    uint32_t begin = 0;   // that of the first byte
    uint32_t tail = kNone;
    uint32_t held = kNone;  // by sequence number
    uint32_t held_count = 0;
  };

  uint32_t take_block();
  void give_back(uint32_t block);
  /** Gives up what is missing before this. */
  void skip_to(Stream& stream, uint32_t sequence);
  /** Gives the blocks back. */
  void forget(Stream& stream);
  /** Keeps a piece until what is before it has come. False: no room. */
  bool hold(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes);
  /** Appends to the window what of these bytes comes next. */
  void append(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes);
  void append_held(Stream& stream);

  HugePages memory_;
  Block* blocks_;
  uint32_t free_ = kNone, used_ = 0;
  std::vector<Stream> streams_;  // [word - 1]
  std::vector<uint32_t> free_streams_;
  std::vector<uint8_t> window_;
  uint64_t gaps_ = 0, unfollowed_ = 0;
};

}  // namespace heddle::nids
