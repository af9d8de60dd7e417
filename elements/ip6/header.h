#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle {

/** Bytes of an IPv6 header without extension headers (RFC 8200, section 3). */
constexpr uint32_t kIp6HeaderBytes = 40;

/** Extension headers, by the number that they have as a next header (RFC 8200, section 4; RFC 4302). */
namespace ip6 {

constexpr uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51, kDestinationOptions = 60;

HEDDLE_HD constexpr bool is_extension(uint8_t next) {
  return next == kHopByHop || next == kRouting || next == kFragment || next == kAuthentication ||
         next == kDestinationOptions;
}

/** Bytes of the extension header `next`, 8 or more; `length`: its second byte. */
HEDDLE_HD constexpr uint32_t extension_bytes(uint8_t next, uint32_t length) {
  return next == kFragment ? 8 : next == kAuthentication ? 4 * (length + 2) : 8 * (length + 1);
}
/** The same of the one at `at`. */
constexpr uint32_t extension_bytes(uint8_t next, const uint8_t* at) { return extension_bytes(next, at[1]); }

/** What stands behind a packet's extension headers. */
struct Behind {
  uint32_t at;          ///< where it begins
  uint8_t number;       ///< that the header before has for it: of a protocol, or of an extension header that is cut off
  uint32_t fragment;    ///< where the last fragment header begins; 0: there is none
  bool later_fragment;  ///< behind that header follows not the beginning of what was cut
};

/** Follows extension headers, however many there are, from `at` on, in a packet of `end` bytes, to the first that is
 *  not all there, or the header of a later fragment. `next`: the number of the first. `load(at)`: the four bytes
 *  there, in memory order. */
template <class Load>
HEDDLE_HD Behind behind_extensions(uint8_t next, uint32_t at, uint32_t end, const Load& load) {
  Behind found{at, next, 0, false};
  while (is_extension(found.number) && end - found.at >= 8 && !found.later_fragment) {
    const uint32_t start = load(found.at);
    const uint32_t bytes = extension_bytes(found.number, start >> 8 & 0xff);
    if (bytes > end - found.at) break;
    if (found.number == kFragment) found.fragment = found.at, found.later_fragment = (start & 0xf8ff0000) != 0;
    found.number = static_cast<uint8_t>(start);
    found.at += bytes;
  }
  return found;
}

}  // namespace ip6
}  // namespace heddle
