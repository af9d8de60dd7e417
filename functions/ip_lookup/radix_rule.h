/* The radix lookup rule: longest-prefix match of an IPv4 address in a trie whose root has 65,536 entries and whose
   other nodes have 16, a cache line each. Every prefix is expanded to the entries that it covers (leaf pushing), so
   that a lookup needs the last entry on its way alone. Source: Srinivasan, Varghese, "Fast Address Lookups Using
   Controlled Prefix Expansion", ACM TOCS 17(1), 1999, sections 4 and 5.
   Plain C11 that is also C++ and CUDA, so that a source-to-source tool can take it as it stands. */
#pragma once

#include <stdint.h>

#include "functions/ip_lookup/entry.h"

#ifdef __cplusplus
namespace heddle::ip_lookup {
#endif

/* An entry below kNodeEntry is a hop index (0: no route); any other names node (entry - kNodeEntry). */
#define kNodeEntry 0x80000000u
enum { kRootBits = 16, kNodeBits = 4, kNodeEntries = 1 << kNodeBits };

/* The hop index of `address` (host byte order), 0 when no route covers it.
   root: 2^16 entries, by the address's first 16 bits; nodes: 16 entries each one after the other, by the next 4 bits.
   Both in host byte order, in memory of the processor that runs this, owned by the caller. */
HEDDLE_HD static inline uint16_t radix_lookup(const uint32_t* root, const uint32_t* nodes, uint32_t address) {
  uint32_t entry = ROUTE_ENTRY(uint32_t, &root[address >> kRootBits]);
  int shift = 32 - kRootBits;
  while (entry >= kNodeEntry) {
    shift -= kNodeBits;
    entry =
        ROUTE_ENTRY(uint32_t, &nodes[(entry - kNodeEntry) * kNodeEntries + ((address >> shift) & (kNodeEntries - 1u))]);
  }
  return (uint16_t)entry;
}

#ifdef __cplusplus
} /* namespace heddle::ip_lookup */
#endif
