/* A walk through a trie as DPDK's LPM6 has it: 24 bits of the address, then a byte a level. C, and C++ for gopt's
   coroutines. */
#pragma once

#include <stdint.h>

#include "gopt.h"

/* Entries: 0: no route; from kDeeper up: group entry - kDeeper of tbl8 [groups][256]; else a hop's number + 1. */
static const uint32_t kDeeper = 0x80000000u;

/* The entry of an address as it lies in packets. One mark for all levels: a lookup that may wait in one place only is
   switched to without a mispredicted jump. */
static inline uint32_t trie_lookup(const uint32_t* tbl24, const uint32_t* tbl8, const uint8_t* address) {
  const uint32_t* entry = &tbl24[(uint32_t)address[0] << 16 | (uint32_t)address[1] << 8 | address[2]];
  uint32_t found = kDeeper;
  for (int byte = 3; found >= kDeeper; ++byte) {
    g_expensive(entry);
    found = *entry;
    entry = &tbl8[(found - kDeeper) * 256ull + address[byte]];
  }
  return found;
}
