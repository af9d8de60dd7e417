#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "functions/nids/match.h"

namespace heddle::nids {

/** What of a TCP segment (RFC 9293, 3.1) says where its payload belongs, and whether a host takes it. */
struct TcpSegment {
  uint32_t sequence;  ///< host byte order
  bool syn, fin, rst;
  std::span<const uint8_t> payload;
  bool ack = true;
  uint32_t acknowledgement = 0;           ///< if `ack`
  std::optional<uint32_t> timestamp{};    ///< TSval (RFC 7323, 3.2)
  std::optional<uint16_t> window{};       ///< as the header says it, host byte order; none: not known
  std::optional<uint8_t> window_scale{};  ///< of a SYN (RFC 7323, 2.2)
};

/** Why it is not plain that a host takes a segment's payload. */
enum class Doubt : uint8_t {
  none,
  no_ack,         ///< it has no ACK: no host takes that (RFC 9293, 3.10.7.4)
  with_rst,       ///< nor what comes with a RST
  with_syn,       ///< a host may leave that to be sent again (RFC 9293, 3.10.7.2; RFC 7413 is Fast Open)
  bad_ack,        ///< it acknowledges what the other side has not sent, or what is long past (RFC 5961, 5.2)
  old_timestamp,  ///< its timestamp is older than one that has come in order (RFC 7323, 5: PAWS)
  beyond_window,  ///< it has bytes behind what the other side takes by now (RFC 9293, 3.10.7.4)
};
constexpr size_t kDoubts = 7;

/** Puts the segments of TCP connections in order, each direction by itself, for one thread. Of each direction the last
 *  kWindowBytes are kept, and what came before its turn, in blocks that are made at the start.
 *
 *  Where segments overlap, bytes that were in order count, then those of the segment that begins first. A direction
 *  without a SYN begins with its first segment that a host may take, or, until the other side acknowledges that, with
 *  what the other side asks for instead, if it comes.
 *
 *  Whether a segment's payload belongs to its direction is for doubt_of() to say. What is in doubt and might be taken
 *  waits, up to kMaxDoubtful blocks of a direction and an eighth of the memory, until the other side acknowledges it;
 *  what comes without doubt in its place goes before it. Where there is no more room it is followed as if without
 *  doubt, and given up again if something without doubt comes in its place. What a side says before the other's SYN
 *  with ACK is in doubt once that has come.
 *
 *  The directions of a connection know each other if both are seen; then what one side acknowledges is certain. What is
 *  missing there is given up for good, and the direction goes on behind it. If the other side is not seen, says
 *  nothing, or repeats what it has acknowledged, this comes to pass as soon as kMaxHeld blocks or half of the memory
 *  wait behind it, or kMaxHeld segments have come that are too far ahead to be kept. Should it come after all before
 *  kRegretBytes have been followed there, or while the other side asks for it, the direction goes back: segments that
 *  no host takes do not lead away from what it does take.
 *
 *  A SYN with another number begins a direction anew where neither data nor an answer has come yet, or, if the other
 *  side is not seen, behind a FIN or RST that is in order. Else hosts ignore it (RFC 9293, 3.10.7.4) unless their
 *  connection is over, which the other side's SYN with ACK shows: then both directions begin anew by its numbers. */
class Streams {
 public:
  static constexpr uint32_t kWindowBytes = 2032, kMaxHeld = 64, kMaxDoubtful = 16;
  static constexpr int32_t kMaxAhead = kMaxHeld * kWindowBytes;
  static constexpr int32_t kOldAckBytes = 65535;          // behind the last one, so many are no doubt
  static constexpr int32_t kMaxUnacknowledged = 1 << 30;  // as much as any window has (RFC 7323, 2.3)
  static constexpr uint32_t kRegretBytes = 1 << 20;
  static constexpr size_t kLongestWindow = kWindowBytes + kMaxPacketBytes + kMaxAhead;

  /** `memory_bytes`: of blocks; `directions`: at once. */
  Streams(size_t memory_bytes, size_t directions);

  /** Takes a segment of the direction that `word` names; 0: a new one, which gets a name, and `other` is that of the
   *  connection's other direction, or 0. The window has what is in order by now, and was not before, and the bytes in
   *  front of it; it is empty if there is nothing new. Valid until the next call. */
  Window take(uint64_t& word, const TcpSegment& segment, uint64_t other = 0);
  /** The same of what the other direction has sent, and the direction that `word` names has acknowledged by now; to be
   *  called until there is nothing new. */
  Window acknowledged(uint64_t word);
  /** The name of the other direction of its connection, or 0. */
  uint64_t other(uint64_t word) const { return static_cast<uint32_t>(streams_[word - 1].other + 1); }
  /** What has been said of all that the direction says until its next connection; 0: nothing. */
  void set_verdict(uint64_t word, uint8_t verdict) { streams_[word - 1].verdict = verdict; }
  uint8_t verdict(uint64_t word) const { return streams_[word - 1].verdict; }
  /** Whether no more bytes come, as a FIN or RST is in order. */
  bool closed(uint64_t word) const { return streams_[word - 1].closed; }
  /** The direction is over. */
  void end(uint64_t word);

  uint64_t gaps() const { return gaps_; }  ///< that were given up
  /** Segments with bytes that were in no window, for want of memory, because they were too far ahead, or because they
   *  waited to the end for what was missing before them (long ones by blocks). */
  uint64_t unfollowed() const { return unfollowed_; }
  /** Blocks of segments that wait for what is missing before them, and how many these are. */
  uint32_t waiting() const { return held_ - doubtful_; }
  uint64_t waiting_segments() const;
  /** Segments with payload by their doubt. */
  std::span<const uint64_t, kDoubts> doubts() const { return doubts_; }
  uint32_t blocks_used() const { return used_; }

 private:
  static constexpr uint32_t kNone = ~0u;
  /** How far `a` is behind `b`; sequence numbers go round (RFC 9293, 3.4). */
  static int32_t distance(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b); }

  struct Block {
    uint32_t next, sequence;
    uint16_t length;
    uint16_t pieces : 14;  // of what waits without doubt: the segments that share it, one right behind the other
    bool doubtful : 1, has_ack : 1;
    uint32_t acknowledgement;     // of doubtful segments, if has_ack
    uint8_t bytes[kWindowBytes];  // and from the end on where the pieces begin, but the first, in two bytes each

    uint32_t end() const { return sequence + length; }
    void begin(uint32_t first, bool in_doubt) {
      sequence = first, length = 0, pieces = 0, doubtful = in_doubt, has_ack = false;
    }
    /** Where a piece begins, and the first piece that begins behind `at`. */
    uint32_t start(uint32_t piece) const;
    void set_start(uint32_t piece, uint32_t at);
    uint32_t piece_behind(uint32_t at) const;
    bool has_room(size_t more, uint32_t more_pieces) const;
    void extend(std::span<const uint8_t> more);
    void add_piece(std::span<const uint8_t> more);
    /** Those of another block, from one on. */
    void add_pieces(const Block& other, uint32_t first);
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
    Place gap;  // the first that was given up of late, if has_gap; or how far it was before it went back, if has_former
    uint32_t since_gap = 0;  // bytes that have been followed since
    uint32_t begin = 0;      // sequence number of the first byte
    uint32_t end = 0;        // that of the one behind the last, if has_end; with may_end by a FIN that is in doubt
    uint32_t held = kNone;   // by sequence number
    uint32_t closed_before = kNone, closed_behind = kNone;  // of the list of closed ones
    uint32_t other = kNone;                                 // the other direction of its connection
    uint32_t sent = 0;                                      // the farthest sequence number that it has used, and one
    uint32_t acknowledged = 0;                              // by the other, at least `begin`
    uint32_t other_begin = 0;                               // by another SYN, if has_other_begin
    uint32_t timestamp = 0;                                 // the last that came in order, if has_timestamp
    uint32_t edge = 0;  // what is before it the other side has room for, if has_edge (RFC 9293, 3.8.6)
    uint8_t verdict = 0;
    uint8_t window_scale = 0;                                   // by its SYN, if scales_window
    uint8_t held_count = 0, doubtful_count = 0, far_count = 0;  // doubtful ones are held as well
    bool has_gap : 1 = false, has_former : 1 = false, has_end : 1 = false, closed : 1 = false;
    bool answered : 1 = false;  // the other has acknowledged `begin`
    bool has_other_begin : 1 = false, has_timestamp : 1 = false;
    bool has_syn : 1 = false;            // `begin` is by a SYN
    bool offers_timestamps : 1 = false;  // in a SYN
    bool may_end : 1 = false, has_edge : 1 = false;
    bool knows_scale : 1 = false;    // the SYN that it has begun with has been seen
    bool scales_window : 1 = false;  // that SYN offers it

    /** Else it has begun with some segment. */
    bool knows_begin() const { return has_syn || answered; }
  };

  Stream* other_of(const Stream& stream) { return stream.other == kNone ? nullptr : &streams_[stream.other]; }
  uint32_t number_of(const Stream& stream) const { return static_cast<uint32_t>(&stream - streams_.data()); }
  /** kNone: all are in use, and no closed direction has one. */
  uint32_t take_block();
  void give_back(uint32_t& block);
  void forget_held(Stream& stream);
  void forget_gap(Stream& stream);
  /** Gives back all that the direction has. */
  void clear(Stream& stream);
  /** It begins anew with the byte of this number; one that is new has no other yet. */
  void begin(Stream& stream, uint32_t sequence);
  void set_closed(uint32_t number, bool closed);

  /** Whether the payload of the segment, which is of this direction, belongs to it. */
  Doubt doubt_of(const Stream& stream, const TcpSegment& segment) const;
  /** The direction has sent what is before this, unless that is out of reach. */
  void raise_sent(Stream& stream, uint32_t sent);
  /** A SYN by which the direction would begin with the byte `first`. */
  void take_syn(Stream& stream, uint32_t first);
  /** A SYN with ACK, the same of the direction that it answers. */
  void take_answer(Stream& stream, uint32_t first, uint32_t acknowledgement);
  /** A segment that is no SYN acknowledges this, which may say by which SYN the direction has begun. */
  void settle_beginning(Stream& stream, uint32_t acknowledgement);
  /** What a segment without doubt acknowledges of what this direction has sent. */
  void take_acknowledgement(Stream& stream, uint32_t acknowledgement);
  /** A segment of the other direction, which its payload alone may leave in doubt, says how far its side takes what
   *  this one sends. */
  void take_window(Stream& stream, const TcpSegment& segment);
  /** All that has been followed is in doubt: it came before the answer to the direction's SYN. */
  void doubt_beginning(Stream& stream);

  /** Gives up what is missing before this; `for_good`: it will not be missed. */
  void skip_to(Stream& stream, uint32_t sequence, bool for_good);
  /** From now on what comes at the place where it goes on leads back there. */
  void may_go_back(Stream& stream);
  /** Goes back to what was given up. What has been followed since counts again if the other side acknowledges it. */
  void go_back(Stream& stream);
  /** The block of what is in doubt for the same reason to which what comes at `sequence` can be added, or kNone. */
  uint32_t block_before(const Stream& stream, const TcpSegment& segment, uint32_t sequence) const;
  /** The block without doubt that ends where a piece of so many bytes begins, and that has room for it, or kNone: also
   *  if something counts between the two. */
  uint32_t block_to_share(const Stream& stream, uint32_t sequence, size_t bytes) const;
  /** Adds to a block the one that begins where it ends, if it has room for it and nothing counts between the two. */
  void join(Stream& stream, uint32_t number);
  /** Whether a piece that was there first has all bytes from `sequence` to `end`. */
  bool is_held(const Stream& stream, uint32_t sequence, uint32_t end) const;
  /** Parts the blocks that have pieces before and behind `sequence`, if bytes from there to `end` count before the
   *  latter. False: no room. */
  bool part(Stream& stream, uint32_t sequence, uint32_t end);
  /** For one more block. */
  bool has_room(const Stream& stream, bool doubtful) const;
  /** Keeps a segment until what is before it has come, or, if it is doubtful, until it is acknowledged. False: no
   *  room. Beside the segment it copies three blocks at most on average: it joins two once, and makes at most two
   *  places where blocks are parted later. */
  bool hold(Stream& stream, const TcpSegment& segment, bool doubtful);
  /** Puts a block among those that are held, or at this place. */
  void insert(Stream& stream, uint32_t number);
  void insert_at(Stream& stream, uint32_t& place, uint32_t number);
  /** Takes the one out that is here in the list. */
  void remove(Stream& stream, uint32_t& place);
  /** Whether a segment from here on comes behind the payload of the SYN, which then belongs to the direction, as long
   *  as the other side, which may say something else, is not seen. */
  bool comes_behind_syn(Stream& stream, uint32_t sequence);
  /** Whether something of the segment is in order, perhaps because what is before it has been given up. */
  bool is_next(Stream& stream, const TcpSegment& segment);
  /** The window begins with what is kept of what was in order last. */
  void open_window(Stream& stream);
  /** Appends to the window what of these bytes comes next. */
  void append(Stream& stream, uint32_t sequence, std::span<const uint8_t> bytes);
  void append_held(Stream& stream, bool doubtful = false);
  /** The same of what is doubtful, but has been acknowledged, and no more than that; false: there is none. */
  bool append_acknowledged(Stream& stream);
  /** Where the first block that is held begins of which something is still to come, or `before` if that is first. */
  uint32_t first_held(const Stream& stream, uint32_t before) const;
  /** There is no room for what is in doubt: what is held, and this segment, is followed as if without doubt, but may
   *  be gone back on. */
  Window follow_doubtful(Stream& stream, const TcpSegment& segment);
  /** The window as it is, of which the bytes behind `old` are new. */
  Window finish_window(Stream& stream, uint32_t old);
  /** Keeps the end of the window. */
  void keep_tail(Stream& stream);

  HugePages memory_;
  uint32_t count_;  // of blocks
  Block* blocks_;
  uint32_t free_ = kNone, used_ = 0, held_ = 0, doubtful_ = 0;
  std::vector<Stream> streams_;  // [word - 1]
  std::vector<uint32_t> free_streams_;
  uint32_t first_closed_ = kNone, last_closed_ = kNone;  // whose blocks are taken first
  std::vector<uint8_t> window_;
  uint64_t gaps_ = 0, unfollowed_ = 0;
  std::array<uint64_t, kDoubts> doubts_{};  // [Doubt]
};

}  // namespace heddle::nids
