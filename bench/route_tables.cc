#include "bench/route_tables.h"

#include <random>
#include <unordered_set>

namespace heddle::bench {

std::vector<ip_lookup::Route> bgp_like_routes(size_t count, uint32_t ports, uint64_t seed) {
  // Share of each length from /8 on, in thousandths: what public collectors see, rounded.
  static constexpr int kShare[25] = {1,  1,   1,   1,   1, 1, 2, 3, 17, 10, 18, 32, 46,
                                     60, 100, 100, 590, 3, 2, 3, 2, 2,  2,  1,  1};
  std::mt19937_64 random(seed);
  std::discrete_distribution<int> lengths(std::begin(kShare), std::end(kShare));
  std::unordered_set<uint64_t> seen;
  std::vector<ip_lookup::Route> routes;
  while (routes.size() < count) {
    const auto length = static_cast<uint8_t>(8 + lengths(random));
    auto address = static_cast<uint32_t>(random());
    // Long prefixes crowd in few /24s, as they do in real tables.
    if (length > 24) address &= 0x1fff00ffu;
    address &= ip_lookup::prefix_mask(length);
    if (address >> 24 == 0 || address >> 24 >= 224) continue;
    if (!seen.insert(uint64_t{length} << 32 | address).second) continue;
    routes.push_back({address, length, {0, static_cast<uint32_t>(random() % ports)}});
  }
  return routes;
}

}  // namespace heddle::bench
