#pragma once

#include <cstdint>

namespace heddle::ip_lookup {

/** Where a packet goes. gateway: IPv4 address in network byte order, 0 = none (the destination is on the link);
 *  port: output, any 32-bit value. */
struct Hop {
  uint32_t gateway;
  uint32_t port;
  bool operator==(const Hop&) const = default;
};

/** A prefix and where it leads. address: host byte order, bits after the first `length` (0..32) are zero. */
struct Route {
  uint32_t address;
  uint8_t length;
  Hop hop;
  bool operator==(const Route&) const = default;
};

/** The bits of an address (host byte order) that a prefix of `length` (0..32) fixes. */
constexpr uint32_t prefix_mask(uint32_t length) { return length == 0 ? 0 : ~uint32_t{0} << (32 - length); }

/** `route` with the address bits after its length cleared. */
constexpr Route normalised(Route route) {
  route.address &= prefix_mask(route.length);
  return route;
}

inline constexpr uint32_t kHops = 49152;  ///< hop indices; 0 means "no route", so 49,151 are usable
/** Hop index i in 1..kPlainHops is output i - 1 without a gateway, whatever the table holds: for these, which are all
 *  that most tables have, nobody needs to read the hops. */
inline constexpr uint32_t kPlainHops = 256;

}  // namespace heddle::ip_lookup
