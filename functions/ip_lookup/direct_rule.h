/* The DIR-24-8-BASIC lookup rule: longest-prefix match of an IPv4 address in at most two dependent loads.
   Source: Gupta, Lin, McKeown, "Routing Lookups in Hardware at Memory Access Speeds", INFOCOM 1998, section 2.
   Plain C11 that is also C++ and CUDA, so that a source-to-source tool can take it as it stands. */
#pragma once

#include <stdint.h>

#include "functions/ip_lookup/entry.h"

#ifdef __cplusplus
namespace heddle::ip_lookup {
#endif

/* A first-level entry below kFirstGroup is a hop index (0: no route); any other names group (entry - kFirstGroup). */
enum { kFirstGroup = 49152, kGroupEntries = 256 };

/* One table entry, read whole. */
HEDDLE_HD static inline uint16_t dir24_entry(const uint16_t* entry) { return ROUTE_ENTRY(uint16_t, entry); }

/* The hop index of `address` (host byte order), 0 when no route covers it.
   tbl24: 2^24 entries, by the address's first 24 bits; tbl8: the groups of 256 entries one after the other, each by the
   address's last 8 bits. Both in host byte order, in memory of the processor that runs this, owned by the caller. */
HEDDLE_HD static inline uint16_t dir24_lookup(const uint16_t* tbl24, const uint16_t* tbl8, uint32_t address) {
  g_expensive(&tbl24[address >> 8]);
  const uint16_t entry = dir24_entry(&tbl24[address >> 8]);
  if (entry < kFirstGroup) return entry;
  const uint16_t* const second = &tbl8[(uint32_t)(entry - kFirstGroup) * kGroupEntries + (address & 255u)];
  g_expensive(second);
  return dir24_entry(second);
}

#ifdef __cplusplus
} /* namespace heddle::ip_lookup */
#endif
