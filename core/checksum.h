#pragma once

#include <cstdint>

#include "core/load.h"

namespace heddle {

/** Ones' complement sum of the 16-bit words of an IPv4 header of `bytes` (20..60, a multiple of 4), in memory order (RFC
 *  1071). */
inline uint16_t ip4_sum(const uint8_t* header, uint32_t bytes) {
  // Ones' complement sums may be taken in words of any size and folded at the end.
  uint64_t sum = 0;
  for (uint32_t at = 0; at < bytes; at += 4) sum += load_u32(header + at);
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

/** Whether the checksum of such a header is right (RFC 791). */
inline bool ip4_checksum_ok(const uint8_t* header, uint32_t bytes) { return ip4_sum(header, bytes) == 0xffff; }

}  // namespace heddle
