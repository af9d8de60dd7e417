/* IPv6 routes in a trie as DPDK's LPM6 has it: a table for the first 24 bits of an address, then one for a byte a
   level, as far as longer prefixes exist. Prefixes are expanded to the entries that they cover, so that a lookup needs
   the last entry on its way alone.
   Plain C11 that is also C++ and CUDA, so that gopt can take it as it stands. */
#pragma once

#include <stdint.h>

#include "functions/ip_lookup/entry.h"

#ifdef __cplusplus
namespace heddle::ip6_lookup {
#endif

/* An entry from kTrieGroup up names group (entry - kTrieGroup); in others the low 16 bits are the value, 0 for no
   route, and the 8 above them are the length of the prefix that they are of, which changes need. */
#define kTrieGroup 0x80000000u
enum { kTrieRootBits = 24, kTrieRootEntries = 1 << kTrieRootBits, kTrieGroupEntries = 256 };

/* Byte `number` of the address of the halves `high` and `low` (host byte order). */
HEDDLE_HD static inline uint32_t address_byte(uint64_t high, uint64_t low, uint32_t number) {
  return (uint32_t)((number < 8 ? high : low) >> (56 - 8 * (number & 7))) & 255u;
}

/* 8 bytes of an address as it lies in a packet. */
static inline uint64_t half_at(const uint8_t* at) {
  uint64_t half;
  __builtin_memcpy(&half, at, sizeof half);
  return __builtin_bswap64(half);
}

/* The entry behind `found`, which names a group, of an address's next byte. */
HEDDLE_HD static inline const uint32_t* trie_next(const uint32_t* trie, uint32_t found, uint32_t byte) {
  return &trie[kTrieRootEntries + (uint64_t)(found - kTrieGroup) * kTrieGroupEntries + byte];
}

/* The value of an address, 0 when no route covers it.
   trie: kTrieRootEntries entries, by the address's first 24 bits, then the groups of 256 entries one after the other,
   by its next byte each. In host byte order, in memory of the processor that runs this, owned by the caller.
   One mark for all levels: a lookup that may wait in one place only is switched to without a mispredicted jump. */
HEDDLE_HD static inline uint16_t trie_lookup(const uint32_t* trie, uint64_t high, uint64_t low) {
  const uint32_t* entry = &trie[high >> (64 - kTrieRootBits)];
  uint32_t byte = kTrieRootBits / 8;
  for (;;) {
    g_expensive(entry);
    const uint32_t found = ROUTE_ENTRY(uint32_t, entry);
    if (found < kTrieGroup) return (uint16_t)found;
    entry = trie_next(trie, found, address_byte(high, low, byte));
    ++byte;
  }
}

/* The same for an address as it lies in a packet, in memory of the CPU: a lookup that waits has its place there to
   keep, not both halves. */
static inline uint16_t trie_lookup_at(const uint32_t* trie, const uint8_t* address) {
  const uint32_t* entry = &trie[half_at(address) >> (64 - kTrieRootBits)];
  const uint8_t* next = address + kTrieRootBits / 8;
  for (;;) {
    g_expensive(entry);
    const uint32_t found = ROUTE_ENTRY(uint32_t, entry);
    if (found < kTrieGroup) return (uint16_t)found;
    entry = trie_next(trie, found, *next);
    ++next;
  }
}

#ifdef __cplusplus
} /* namespace heddle::ip6_lookup */
#endif
