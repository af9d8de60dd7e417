/* Batched lookups for measuring gopt, each in five forms: as written, transformed (_gopt), by gopt's group prefetching
   (_group, where control flow allows it) and coroutines (_coroutine), and with group prefetching by hand (_by_hand;
   the trie's is one of LookupIP6Route's forms). */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* elements [n]: each is followed `depth` times through table [2^k], a permutation of its indices. */
#define CHASE(name) void name(const uint32_t* table, uint32_t* elements, int n, int depth)
CHASE(chase);
CHASE(chase_gopt);
CHASE(chase_group);
CHASE(chase_coroutine);
CHASE(chase_by_hand);

/* A 2-8 cuckoo table (Fan, Andersen, Kaminsky, "MemC3", NSDI 2013): a key lies in one of two buckets of eight slots.
   A slot with value 0 is empty. */
enum { kCuckooSlots = 8 };
struct cuckoo_bucket { /* a cache line */
  uint32_t keys[kCuckooSlots];
  uint32_t values[kCuckooSlots];
};
static inline uint32_t cuckoo_hash(uint32_t key, uint32_t seed) {
  uint32_t x = (key ^ seed) * 0x85ebca6bu;
  x = (x ^ x >> 15) * 0xc2b2ae35u;
  return x ^ x >> 13;
}
enum { kCuckooFirst = 0x2545f491, kCuckooSecond = 0x6c078965 };

/* values [n]: those of keys [n], 0 where a key is not in the table of mask + 1 buckets. */
#define CUCKOO(name) \
  void name(const struct cuckoo_bucket* buckets, uint32_t mask, const uint32_t* keys, uint32_t* values, int n)
CUCKOO(cuckoo);
CUCKOO(cuckoo_gopt);
CUCKOO(cuckoo_coroutine);
CUCKOO(cuckoo_by_hand);

/* A table as DirectImage has it. */
struct dir24_table {
  const uint16_t *tbl24, *tbl8;
};
/* hops [n]: the hop indices of addresses [n] (host byte order), each in the table of its own number. */
#define DIR24(name) \
  void name(const struct dir24_table* tables, const uint8_t* numbers, const uint32_t* addresses, uint16_t* hops, int n)
DIR24(dir24);
DIR24(dir24_gopt);
DIR24(dir24_group);
DIR24(dir24_coroutine);
DIR24(dir24_by_hand);

/* hops [n]: trie_lookup_at() of addresses [n] (as they lie in packets). */
#define IP6(name) void name(const uint32_t* trie, const uint8_t(*addresses)[16], uint16_t* hops, int n)
IP6(ip6);
IP6(ip6_gopt);
IP6(ip6_coroutine);

#ifdef __cplusplus
}
#endif
