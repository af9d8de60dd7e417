/* Lookups in a cuckoo hash table. */
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
    const struct cuckoo_bucket* bucket = &buckets[cuckoo_hash(keys[i], kCuckooFirst) & mask];
    g_expensive(bucket);
    uint32_t value = value_in(bucket, keys[i]);
    if (value == 0) {
      bucket = &buckets[cuckoo_hash(keys[i], kCuckooSecond) & mask];
      g_expensive(bucket);
      value = value_in(bucket, keys[i]);
    }
    values[i] = value;
  }
}
