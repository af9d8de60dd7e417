/* For gopt: lookups that take turns while nodes are on their way. */
#include "functions/ip6_lookup/lookups.h"

#include "gopt.h"

IP6_LOOKUPS(ip6_lookups);

static inline uint64_t half_at(const uint8_t* at) {
  uint64_t half;
  __builtin_memcpy(&half, at, sizeof half);
  return __builtin_bswap64(half);
}

IP6_LOOKUPS(ip6_lookups) {
  foreach (i, n) {
    hops[i] = value_of(image, half_at(addresses[i]), half_at(addresses[i] + 8));
  }
}
