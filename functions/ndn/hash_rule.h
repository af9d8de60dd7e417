/* SipHash-1-3 (Aumasson, Bernstein, INDOCRYPT 2012) with 128 bits of result, of names of which every beginning can be
   asked for. Who does not know the seed cannot find names that collide.
   Plain C11 that is also C++ and CUDA, so that gopt can take it as it stands. */
#pragma once

#include "functions/cuckoo/bucket_rule.h"

#ifdef __cplusplus
namespace heddle::ndn {
using cuckoo::kKeyMask;
using cuckoo::mixed;
#endif

struct NameHash {
  uint64_t v0, v1, v2, v3;
};

HEDDLE_HD static inline uint64_t hash_rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }
HEDDLE_HD static inline void hash_round(struct NameHash* hash) {
  hash->v0 += hash->v1, hash->v1 = hash_rotated(hash->v1, 13) ^ hash->v0, hash->v0 = hash_rotated(hash->v0, 32);
  hash->v2 += hash->v3, hash->v3 = hash_rotated(hash->v3, 16) ^ hash->v2;
  hash->v0 += hash->v3, hash->v3 = hash_rotated(hash->v3, 21) ^ hash->v0;
  hash->v2 += hash->v1, hash->v1 = hash_rotated(hash->v1, 17) ^ hash->v2, hash->v2 = hash_rotated(hash->v2, 32);
}
HEDDLE_HD static inline uint64_t hash_folded(struct NameHash* hash) {
  hash_round(hash), hash_round(hash), hash_round(hash);
  return hash->v0 ^ hash->v1 ^ hash->v2 ^ hash->v3;
}

HEDDLE_HD static inline void hash_begin(struct NameHash* hash, uint64_t seed) {
  const uint64_t second = mixed(seed);
  hash->v0 = seed ^ 0x736f6d6570736575u;
  hash->v1 = second ^ 0x646f72616e646f6du ^ 0xee;
  hash->v2 = seed ^ 0x6c7967656e657261u;
  hash->v3 = second ^ 0x7465646279746573u;
}

/* Adds the next 8 bytes of the name, the first in the lowest bits. */
HEDDLE_HD static inline void hash_add(struct NameHash* hash, uint64_t word) {
  hash->v3 ^= word;
  hash_round(hash);
  hash->v0 ^= word;
}

/* Key and hash for functions/cuckoo of what has been added and `last`: the fewer than 8 bytes behind that, and in bits
   56 to 63 the length of all. */
HEDDLE_HD static inline void hash_finish(const struct NameHash* hash, uint64_t last, uint64_t* key, uint32_t* bucket) {
  struct NameHash end = *hash;
  hash_add(&end, last);
  end.v2 ^= 0xee;
  *key = hash_folded(&end) & kKeyMask;
  end.v1 ^= 0xdd;
  *bucket = (uint32_t)(hash_folded(&end) >> 32);
}

#ifdef __cplusplus
} /* namespace heddle::ndn */
#endif
