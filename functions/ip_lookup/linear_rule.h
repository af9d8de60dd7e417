/* The linear lookup rule: longest-prefix match of an IPv4 address by looking at one route after the other, longer
   prefixes first, until one matches.
   Plain C11 that is also C++ and CUDA, so that a source-to-source tool can take it as it stands. */
#pragma once

#include <stdint.h>

#include "functions/ip_lookup/entry.h"

#ifdef __cplusplus
namespace heddle::ip_lookup {
#endif

/* An entry is one word, so that it is always read whole: from the highest bit, 1 if the entry is empty, 32 bits of
   address, 15 bits of address bits that the prefix leaves open, 16 bits of hop index. */
#define kEmptyEntry (1ull << 63)
enum { kAddressShift = 31, kOpenBitsShift = 16 };

HEDDLE_HD static inline uint64_t linear_entry(uint32_t address, uint32_t length, uint16_t hop) {
  return (uint64_t)address << kAddressShift | (uint64_t)(32 - length) << kOpenBitsShift | hop;
}

/* The number of entries, and above it the number of changes so far. */
enum { kChangesShift = 32 };

/* The hop index of `address` (host byte order), 0 when no route covers it.
   entries: as many as *state says, in host byte order, in memory of the processor that runs this, owned by the caller.
   A search that a change has overtaken begins again: two changes could otherwise add a route behind it and remove one
   before it, and it would see neither. */
HEDDLE_HD static inline uint16_t linear_lookup(const uint64_t* entries, const uint64_t* state, uint32_t address) {
  for (uint64_t before = ROUTE_ENTRY(uint64_t, state);;) {
    const uint32_t end = (uint32_t)before;
    uint16_t hop = 0;
    for (uint32_t i = 0; i < end; ++i) {
      const uint64_t entry = ROUTE_ENTRY(uint64_t, &entries[i]);
      const uint64_t difference = entry >> kAddressShift ^ address; /* an empty entry's has bit 32 set */
      if (difference >> (entry >> kOpenBitsShift & 63) == 0) {
        hop = (uint16_t)entry;
        break;
      }
    }
    ROUTE_FENCE();
    const uint64_t after = ROUTE_ENTRY(uint64_t, state);
    if (after == before) return hop;
    before = after;
  }
}

#ifdef __cplusplus
} /* namespace heddle::ip_lookup */
#endif
