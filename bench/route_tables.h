#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "functions/ip_lookup/route.h"

namespace heddle::bench {

/** `count` different prefixes with the length distribution of a BGP table (two thirds of them /24, a few longer),
 * leading to `ports` outputs, 0 to ports - 1. The same for the same `seed`. */
std::vector<ip_lookup::Route> bgp_like_routes(size_t count, uint32_t ports, uint64_t seed);

}  // namespace heddle::bench
