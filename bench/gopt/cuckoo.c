/* Lookups in a cuckoo hash table. One mark for both buckets: a lookup that may wait in one place only is switched to
   without a mispredicted jump. */
#include "bench/gopt/lookups.h"
#include "gopt.h"

/* The value of `key` in the bucket, 0 if it is not there. */
static inline uint32_t value_in(const struct cuckoo_bucket* bucket, uint32_t key) {
  uint32_t value = 0;
  for (int slot = 0; slot < kCuckooSlots; ++slot) value |= bucket->keys[slot] == key ? bucket->values[slot] : 0;
  return value;
}

void cuckoo(const struct cuckoo_bucket* buckets, uint32_t mask, const uint32_t* keys, uint32_t* values, int n) {
  foreach (i, n) {
    uint32_t value = 0;
    for (uint32_t seed = kCuckooFirst; value == 0 && seed != 0; seed = seed == kCuckooFirst ? kCuckooSecond : 0) {
      const struct cuckoo_bucket* bucket = &buckets[cuckoo_hash(keys[i], seed) & mask];
      g_expensive(bucket);
      value = value_in(bucket, keys[i]);
    }
    values[i] = value;
  }
}
