#pragma once

#include <cstdint>

#include "core/checksum.h"

namespace heddle {

/** The Internet checksum's sum of bytes [at, at + bytes), as big-endian words, added to `sum` (RFC 1071). */
inline uint64_t checksum_add(uint64_t sum, const uint8_t* at, uint32_t bytes) {
  for (uint32_t i = 0; i + 1 < bytes; i += 2) sum += static_cast<uint32_t>(at[i] << 8 | at[i + 1]);
  if (bytes % 2 != 0) sum += static_cast<uint32_t>(at[bytes - 1] << 8);
  return sum;
}
inline uint32_t checksum_of(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint32_t>(~sum & 0xffff);
}

/** Sets the checksum of an IPv4 header of `bytes` (RFC 791). */
inline void set_ip4_checksum(uint8_t* header, uint32_t bytes) {
  header[10] = header[11] = 0;
  store_u16(header + 10, ip4_checksum(header, bytes));
}

/** The checksum of a TCP or UDP segment of `bytes` at `segment`, of which the first `summed` are summed (the others are
 *  zero) and whose checksum field is zero; `ip` is its IPv4 header (RFC 768, RFC 9293). UDP's 0 is 0xffff. */
inline uint32_t transport_checksum(const uint8_t* ip, const uint8_t* segment, uint32_t summed, uint32_t bytes) {
  const uint64_t pseudo = checksum_add(uint64_t{ip[9]} + bytes, ip + 12, 8);
  const uint32_t sum = checksum_of(checksum_add(pseudo, segment, summed));
  return sum == 0 && ip[9] == 17 ? 0xffff : sum;
}

/** The checksum of a UDP datagram of IPv6, whose 40 bytes of header are at `ip` (RFC 8200, 8.1), as above. */
inline uint32_t udp6_checksum(const uint8_t* ip, const uint8_t* segment, uint32_t summed, uint32_t bytes) {
  const uint64_t pseudo = checksum_add(uint64_t{17} + bytes, ip + 8, 32);
  const uint32_t sum = checksum_of(checksum_add(pseudo, segment, summed));
  return sum == 0 ? 0xffff : sum;
}

}  // namespace heddle
