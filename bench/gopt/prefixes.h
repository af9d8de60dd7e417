#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "functions/ip6_lookup/route.h"

namespace heddle::bench {

/** The paper's: `count` random IPv6 prefixes of 48 to 64 bits, in order of length, that lead to `hops` outputs. */
inline std::vector<ip6_lookup::Route> random_prefixes(size_t count, uint32_t hops, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<ip6_lookup::Route> routes(count);
  for (auto& [prefix, hop] : routes) {
    ip6_lookup::Address address;
    for (int byte = 0; byte < 16; ++byte) {
      uint64_t& half = byte < 8 ? address.high : address.low;
      half = half << 8 | static_cast<uint8_t>(random());
    }
    prefix = prefix_of(address, static_cast<uint8_t>(48 + random() % 17));
    hop.port = static_cast<uint32_t>(random()) % hops;
  }
  std::ranges::stable_sort(routes, {}, [](const ip6_lookup::Route& route) { return route.prefix.length; });
  return routes;
}

}  // namespace heddle::bench
