#pragma once

#include <compare>
#include <cstdint>

namespace heddle::ip6_lookup {

/** An IPv6 address; `high`: its first 64 bits. Host byte order. */
struct Address {
  uint64_t high = 0, low = 0;
  auto operator<=>(const Address&) const = default;
};

/** Where a packet goes. gateway: :: = none (the destination is on the link). */
struct Hop {
  Address gateway;
  uint32_t port = 0;
  bool operator==(const Hop&) const = default;
};

/** A prefix; bits of `address` after the first `length` (0..128) are zero. */
struct Prefix {
  Address address;
  uint8_t length = 0;
  auto operator<=>(const Prefix&) const = default;  ///< by address, then the shorter first
};

/** A prefix and where it leads. */
struct Route {
  Prefix prefix;
  Hop hop;
  bool operator==(const Route&) const = default;
};

/** The first `length` (0..128) bits. */
constexpr Address prefix_mask(uint32_t length) {
  const auto half = [](uint32_t bits) { return bits == 0 ? 0 : ~uint64_t{0} << (64 - bits); };
  return {half(length < 64 ? length : 64), half(length < 64 ? 0 : length - 64)};
}

/** `address` with the bits after the first `length` cleared. */
constexpr Prefix prefix_of(Address address, uint8_t length) {
  const Address mask = prefix_mask(length);
  return {{address.high & mask.high, address.low & mask.low}, length};
}

}  // namespace heddle::ip6_lookup
