#pragma once

#include <algorithm>

#include "elements/ip/transport.h"
#include "elements/ip6/icmp6.h"

/** What is known of headers where packets are cut and put together (RFC 8200, 4.5). */
namespace heddle::ip6 {

constexpr uint32_t kFragmentBytes = 8;  ///< of a Fragment header
constexpr uint16_t kMore = 1;           ///< of its field that says where the part belongs: another part follows

constexpr uint8_t kNoNextHeader = 59;  ///< as a next header: there is none

/** Bytes of the header of TCP, UDP or ICMPv6 at `at`, of which `room` are there; 0 if `protocol` is another one. */
inline uint32_t upper_layer_bytes(uint8_t protocol, const uint8_t* at, uint32_t room) {
  if (protocol == kUdp || protocol == kIcmp6) return 8;
  if (protocol != kTcp) return 0;
  return std::max(20u, room > 12 ? (at[12] >> 4) * 4u : 0);
}

}  // namespace heddle::ip6
