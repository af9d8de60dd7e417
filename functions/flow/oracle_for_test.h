#pragma once

#include "tests/support/harness.h"

namespace heddle::test {

constexpr size_t kL3 = 14;  ///< where headers are in packets of these tests

/** Number, below `servers`, of the one that LoadBalancer gives to a new flow with packets like `bytes`, whose headers
 *  are at `l3` and `l4`: written anew from its description. Fields are little-endian numbers here, whatever they
 *  mean. */
inline uint32_t server_of_flow(const Bytes& bytes, size_t l3, size_t l4, uint64_t servers) {
  const auto number = [&](size_t at, size_t size) {
    uint64_t value = 0;
    for (size_t b = 0; b < size && at + size <= bytes.size(); ++b) value |= uint64_t{bytes[at + b]} << 8 * b;
    return value;
  };
  const auto mix = [](uint64_t x) {  // SplitMix64's
    x ^= x >> 30, x *= 0xbf58476d1ce4e5b9;
    x ^= x >> 27, x *= 0x94d049bb133111eb;
    return x ^ x >> 31;
  };
  const uint64_t protocol = bytes[l3 + 9];
  const bool has_ports = (number(l3 + 6, 2) & 0xff1f) == 0 &&
                         (protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136);
  const uint64_t ports = has_ports ? number(l4, 4) : 0;
  const uint64_t hash = mix(mix(number(l3 + 12, 4) << 32 | number(l3 + 16, 4)) ^ (ports << 8 | protocol));
  return static_cast<uint32_t>((hash >> 32) * servers >> 32);
}

/** The one's complement sum of bytes [from, to), and `sum`. */
inline unsigned ones_sum(const Bytes& bytes, size_t from, size_t to, unsigned sum) {
  for (size_t at = from; at < to; at += 2)
    sum += static_cast<unsigned>(bytes[at] << 8 | (at + 1 < to ? bytes[at + 1] : 0));
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

/** What the checksum of TCP or UDP adds up to, with the pseudo header (RFC 768). */
inline unsigned transport_sum(const Bytes& bytes, size_t l3, size_t l4) {
  const unsigned pseudo = bytes[l3 + 9] + static_cast<unsigned>(bytes.size() - l4);
  return ones_sum(bytes, l4, bytes.size(), ones_sum(bytes, l3 + 12, l3 + 20, pseudo));
}

}  // namespace heddle::test
