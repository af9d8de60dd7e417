#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/batch.h"

namespace heddle {

/** What runs an element: the CPU, or a GPU by its number. */
struct Processor {
  enum Kind : uint8_t { kCpu, kGpu };
  Kind kind = kCpu;
  uint8_t number = 0;
  bool is_gpu() const { return kind == kGpu; }
  bool operator==(const Processor&) const = default;
  static const Processor cpu, gpu;  ///< gpu: the first
};
inline constexpr Processor Processor::cpu{Processor::kCpu, 0}, Processor::gpu{Processor::kGpu, 0};

/** What a byte interval is relative to. `head` is where the element sees the packet begin (after any Strip before it);
 *  `l3` and `l4` are the headers that the columns of these names point to; `end` counts back from the last byte.
 *  `moving` is the planner's: a head that differs between packets. */
enum class Base : uint8_t { head, l3, l4, end, moving };

constexpr int kToEnd = std::numeric_limits<int>::max();

/** A field: bytes [from, to) relative to `base`; `to` = kToEnd reaches the end of the packet. For Base::end both are
 *  negative or 0: {end, -4, 0} is the last four bytes. */
struct Interval {
  Base base;
  int from, to;
  bool operator==(const Interval&) const = default;
};

/** What an element reads and writes of each packet on one processor (Gaviss, section 4.3, as intervals instead of fixed
 *  field bits). A field that is written for some packets only must be declared as read, too: the bytes that it leaves
 *  alone have to be there. A test proves every declaration, see tests/access.h. */
struct Access {
  std::vector<Interval> reads{}, writes{};
  ColumnSet column_reads = 0, column_writes = 0;
};

// Fields by name. Ethernet: IEEE 802.3, 3.2. IPv4: RFC 791, 3.1.
constexpr Interval kEthDst{Base::head, 0, 6}, kEthSrc{Base::head, 6, 12}, kEthType{Base::head, 12, 14};
constexpr Interval kIp4Dst{Base::l3, 16, 20};
constexpr Interval kWholePacket{Base::head, 0, kToEnd};

}  // namespace heddle
