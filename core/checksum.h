#pragma once

#include <cstdint>

#include "core/load.h"

namespace heddle {

/** Sum of the 16-bit words of an IPv4 header of `bytes` (20..60, a multiple of 4), in memory order, with most carries
 *  still to be added: below 0x20010 (RFC 1071). */
inline uint32_t ip4_sum(const uint8_t* header, uint32_t bytes) {
  // Ones' complement sums may be taken in words of any size and folded at the end.
  uint64_t sum = 0;
  for (uint32_t at = 0; at < bytes; at += 4) sum += load_u32(header + at);
  return static_cast<uint32_t>((sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32));
}

/** The checksum that such a header should have, in memory order, if it has 0 now (RFC 791). */
inline uint16_t ip4_checksum(const uint8_t* header, uint32_t bytes) {
  const uint32_t sum = ip4_sum(header, bytes);
  const uint32_t folded = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~(folded + (folded >> 16)));
}

/** Whether the checksum of such a header is right: its words, the checksum among them, add up to 0xffff. */
inline bool ip4_checksum_ok(const uint8_t* header, uint32_t bytes) {
  const uint32_t sum = ip4_sum(header, bytes);
  return (sum == 0xffff) | (sum == 0x1fffe);
}

}  // namespace heddle
