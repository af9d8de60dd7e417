#pragma once

#include "elements/endpoints/checksums.h"
#include "elements/ip6/header.h"

namespace heddle {

/** ICMPv6 (RFC 4443): its number as a next header; messages below kIcmp6Informational report errors. */
constexpr uint8_t kIcmp6 = 58, kIcmp6Informational = 128, kIcmp6Redirect = 137;
constexpr int kIcmp6Unreachable = 1, kIcmp6TooBig = 2, kIcmp6TimeExceeded = 3, kIcmp6ParameterProblem = 4;

/** Of a message of `bytes` right behind the 40 bytes of header at `ip`; with a right checksum in it 0 (RFC 4443,
 *  2.3). */
inline uint32_t icmp6_checksum(const uint8_t* ip, uint32_t bytes) {
  const uint64_t pseudo = checksum_add(uint64_t{kIcmp6} + bytes, ip + 8, 32);
  return checksum_of(checksum_add(pseudo, ip + kIp6HeaderBytes, bytes));
}

}  // namespace heddle
