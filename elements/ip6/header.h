#pragma once

#include <cstdint>

namespace heddle {

/** Bytes of an IPv6 header without extension headers (RFC 8200, section 3). */
constexpr uint32_t kIp6HeaderBytes = 40;

/** Extension headers, by the number that they have as a next header (RFC 8200, section 4; RFC 4302). */
namespace ip6 {

constexpr uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51, kDestinationOptions = 60;

constexpr bool is_extension(uint8_t next) {
  return next == kHopByHop || next == kRouting || next == kFragment || next == kAuthentication ||
         next == kDestinationOptions;
}

/** Bytes of the extension header `next` at `at`, 8 or more. */
constexpr uint32_t extension_bytes(uint8_t next, const uint8_t* at) {
  return next == kFragment ? 8 : next == kAuthentication ? 4 * (at[1] + 2u) : 8 * (at[1] + 1u);
}

}  // namespace ip6
}  // namespace heddle
