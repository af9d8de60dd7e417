#pragma once

#include <cstring>

#include "elements/ip6/gateways.h"
#include "functions/ip6_lookup/route.h"

namespace heddle::ip6_lookup {

/** The number of a gateway, a new one if it has none. Throws Error if there are no more. */
inline uint32_t number_of(const Address& gateway) {
  Ip6 bytes;
  const uint64_t halves[] = {__builtin_bswap64(gateway.high), __builtin_bswap64(gateway.low)};
  std::memcpy(bytes.data(), halves, bytes.size());
  return ip6_gateways::number_of(bytes);
}

}  // namespace heddle::ip6_lookup
