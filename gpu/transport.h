#pragma once

#include <cstdint>
#include <limits>

#include "core/macros.h"

namespace heddle::gpu {

/** Bytes [from, to) of a packet as it enters a segment; from = to: none, to = kToEnd: up to its end. Those before 0
 *  were stripped from it before. */
struct Span {
  static constexpr int32_t kToEnd = std::numeric_limits<int32_t>::max();
  static constexpr int32_t kFromStart = std::numeric_limits<int32_t>::min();  ///< from: where it begins as it leaves
  int32_t from = 0, to = 0;
  HEDDLE_HD constexpr bool empty() const { return from >= to; }
};

/** Memory [first, last), both multiples of kPiece. */
struct Range {
  uintptr_t first = 0, last = 0;
  HEDDLE_HD constexpr uint32_t bytes() const { return static_cast<uint32_t>(last - first); }
};

/** Where a segment's packets come back to. */
enum class Landing : uint8_t {
  none,    ///< to the packets
  stores,  ///< side by side into other memory, by the kernel
  engine   ///< the same, by the copy engine behind the kernel
};

/** Transport `gather`: what a segment copies of each packet to the packet's twin, which lies in GPU memory at the same
 *  offset from the twins' base as the packet from the packet memory's, and what it copies back. Bytes are copied as
 *  they lie in pieces of 16, long packets from a boundary of 64 on: PCIe transfers fall on whole lines. The bytes
 *  around a packet that this takes along are gathered before they are written back, so they stay what they were. Packet
 *  buffers begin and end on boundaries of 64 bytes, so no byte of another buffer is touched.
 *
 *  Transport `landing`: whole packets; their twins are those of the places where the packets of the slot land. These
 *  lie side by side, landing_bytes() each, packet by packet from Slot::landing on, so that they come back in one piece.
 *  A packet is as far from a boundary of 64 there as it was. It is as with `gather` if the slot says that its packets
 *  land nowhere. */
struct Copies {
  static constexpr uint32_t kPiece = 16, kLine = 64;

  bool kept = false;    ///< the twin has what is not gathered: a segment before has left it there
  Span in;              ///< gathered
  Span out;             ///< written back, of what is gathered; up to the end: of the packet as it leaves
  uint32_t before = 0;  ///< bytes that the packet may grow at its start, copied along
  uint32_t behind = 0;  ///< and at its end
  Landing landing = Landing::none;
  uint32_t front = 0;  ///< where packets land: bytes that stay free before what is gathered, a multiple of kLine
  uint32_t back = 0;   ///< and behind it, likewise

  HEDDLE_HD constexpr bool any() const { return kept || !in.empty(); }
  /** Warps of the block that copies: whole packets want more loads under way than one warp has. */
  constexpr int warps() const { return kept || in.to == Span::kToEnd ? 4 : 1; }

  HEDDLE_HD constexpr uintptr_t unit() const {
    return kept || in.to == Span::kToEnd || in.to - in.from > static_cast<int32_t>(2 * kLine) ? kLine : kPiece;
  }

  /** What is gathered of a packet of `length` bytes at `start`. */
  HEDDLE_HD constexpr Range gathered(uintptr_t start, uint32_t length) const {
    const uintptr_t first = start + static_cast<uintptr_t>(in.from) - before, end = end_of(in, start, length, behind);
    return first < end ? aligned(first, end) : Range{};
  }
  /** Where that begins, if there is any. */
  HEDDLE_HD constexpr uintptr_t first(uintptr_t start) const {
    return (start + static_cast<uintptr_t>(in.from) - before) & ~(unit() - 1);
  }
  /** Bytes that are gathered of a packet of up to `length`, at most; a multiple of kLine. */
  constexpr uint32_t most_gathered(uint32_t length) const {
    const uint32_t stripped = in.from < 0 ? static_cast<uint32_t>(-in.from) : 0;
    return (stripped + before + length + behind + kLine - 1 + kLine - 1) / kLine * kLine;
  }
  /** Bytes of memory that a packet of which this is gathered lands in, a multiple of kLine; 0: it does not, for it has
   *  none. */
  HEDDLE_HD constexpr uint32_t landing_bytes(const Range& gathered) const {
    return gathered.bytes() == 0 ? 0 : front + (gathered.bytes() + kLine - 1) / kLine * kLine + back;
  }
  /** What is written back of one that entered at `entry` with `entry_length` bytes and leaves at `start` with
   *  `length`. */
  HEDDLE_HD constexpr Range written_back(uintptr_t entry, uint32_t entry_length, uintptr_t start,
                                         uint32_t length) const {
    if (out.empty()) return {};
    const uintptr_t first = out.from == Span::kFromStart ? start : entry + static_cast<uintptr_t>(out.from);
    const uintptr_t end = out.to == Span::kToEnd ? start + length : end_of(out, entry, entry_length, 0);
    return first < end ? aligned(first, end) : Range{};
  }

 private:
  static HEDDLE_HD constexpr uintptr_t end_of(const Span& span, uintptr_t start, uint32_t length, uint32_t behind) {
    if (span.to == Span::kToEnd) return start + length + behind;
    return start + (static_cast<uint32_t>(span.to) < length ? static_cast<uint32_t>(span.to) : length);
  }
  HEDDLE_HD constexpr Range aligned(uintptr_t first, uintptr_t end) const {
    return {first & ~(unit() - 1), (end + kPiece - 1) & ~uintptr_t{kPiece - 1}};
  }
};

}  // namespace heddle::gpu
