#pragma once

#include <array>
#include <cstdint>

namespace heddle {

/** As it lies in packets. */
using Ip6 = std::array<uint8_t, 16>;

/** Gateways of IPv6 routes, which are longer than an annotation, by the number that the annotation dst has for them:
 *  from 1 on, the same in the whole program for as long as it runs. 0: no gateway. */
namespace ip6_gateways {

constexpr uint32_t kMax = 65535;

/** The number of `address`, a new one if it has none; 0 for ::. Throws Error if there are no more. Any thread. */
uint32_t number_of(const Ip6& address);

/** Null if no gateway has this number. Any thread; does not wait. */
const Ip6* address_of(uint32_t number);

}  // namespace ip6_gateways
}  // namespace heddle
