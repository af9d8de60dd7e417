#pragma once

#include <cstdint>

#include "core/macros.h"

/** Whether an IPv4 header is valid (RFC 791, 3.1; RFC 1812, 5.2.2). Words of it are as they lie, on a little-endian
 *  processor. */
namespace heddle::check_ip {

enum Reason : int { kValid = -1, kShort, kBadVersion, kBadHeaderLength, kBadLength, kBadChecksum, kBadSource };
constexpr int kReasons = 6;
constexpr uint32_t kMinBytes = 20;  ///< of a header

HEDDLE_HD inline uint32_t header_bytes(uint32_t first) { return (first & 15) * 4; }
HEDDLE_HD inline uint32_t total_bytes(uint32_t first) { return first >> 24 | (first >> 8 & 0xff00); }

/** What the first four bytes of a header say, of which there are `room`, at least kMinBytes, up to the packet's
 *  end. */
HEDDLE_HD inline Reason check_lengths(uint32_t first, uint32_t room) {
  if ((first >> 4 & 15) != 4) return kBadVersion;
  const uint32_t header = header_bytes(first), total = total_bytes(first);
  if (header < kMinBytes) return kBadHeaderLength;
  if (room < header) return kShort;
  return total < header || total > room ? kBadLength : kValid;
}

/** Adds a word to a checksum that begins with 0 (RFC 1071); up to 65,535 of them. */
HEDDLE_HD inline uint32_t add(uint32_t sum, uint32_t word) { return sum + (word & 0xffff) + (word >> 16); }
/** Whether a header with its checksum makes this sum. */
HEDDLE_HD inline bool is_sum_of_valid(uint32_t sum) {
  sum = (sum & 0xffff) + (sum >> 16);
  return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/** What a GPU needs to know of the element's arguments. */
struct Image {
  static constexpr uint32_t kMaxAddresses = 60;
  uint32_t offset;                    ///< of the header in packets, bytes
  uint32_t checksum;                  ///< whether to verify it
  uint32_t second_output;             ///< whether bad packets leave by output 1
  uint32_t bad, good;                 ///< number of sources that are refused; of destinations that they may send to
  uint32_t addresses[kMaxAddresses];  ///< these, then those; network byte order
};

/** What it counts. */
struct Counts {
  unsigned long long valid, bad[kReasons];
};

}  // namespace heddle::check_ip
