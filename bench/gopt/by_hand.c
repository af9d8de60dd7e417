/* The same lookups with group prefetching, written by hand. */
#include "bench/gopt/lookups.h"
#include "functions/ip_lookup/direct_rule.h"

enum { kGroup = 32 }; /* the fastest of 16, 32 and 64 */

static inline int smaller(int a, int b) { return a < b ? a : b; }

void chase_by_hand(const uint32_t* table, uint32_t* elements, int n, int depth) {
  for (int first = 0; first < n; first += kGroup) {
    const int in_group = smaller(kGroup, n - first);
    uint32_t* const x = &elements[first];
    for (int i = 0; i < in_group; ++i) __builtin_prefetch(&table[x[i]]);
    for (int d = 0; d < depth; ++d)
      for (int i = 0; i < in_group; ++i) {
        x[i] = table[x[i]];
        __builtin_prefetch(&table[x[i]]);
      }
  }
}

static inline uint32_t value_in(const struct cuckoo_bucket* bucket, uint32_t key) {
  uint32_t value = 0;
  for (int slot = 0; slot < kCuckooSlots; ++slot) value |= bucket->keys[slot] == key ? bucket->values[slot] : 0;
  return value;
}

void cuckoo_by_hand(const struct cuckoo_bucket* buckets, uint32_t mask, const uint32_t* keys, uint32_t* values, int n) {
  const struct cuckoo_bucket* bucket[kGroup];
  int missed[kGroup];
  for (int first = 0; first < n; first += kGroup) {
    const int in_group = smaller(kGroup, n - first);
    for (int i = 0; i < in_group; ++i) {
      bucket[i] = &buckets[cuckoo_hash(keys[first + i], kCuckooFirst) & mask];
      __builtin_prefetch(bucket[i]);
    }
    int misses = 0;
    for (int i = 0; i < in_group; ++i) {
      const uint32_t value = value_in(bucket[i], keys[first + i]);
      values[first + i] = value;
      if (value == 0) {
        bucket[misses] = &buckets[cuckoo_hash(keys[first + i], kCuckooSecond) & mask];
        __builtin_prefetch(bucket[misses]);
        missed[misses++] = first + i;
      }
    }
    for (int i = 0; i < misses; ++i) values[missed[i]] = value_in(bucket[i], keys[missed[i]]);
  }
}

void dir24_by_hand(const struct dir24_table* tables, const uint8_t* numbers, const uint32_t* addresses, uint16_t* hops,
                   int n) {
  int in_tbl8[kGroup];
  const uint16_t* second[kGroup];
  for (int first = 0; first < n; first += kGroup) {
    const int in_group = smaller(kGroup, n - first);
    for (int i = first; i < first + in_group; ++i) __builtin_prefetch(&tables[numbers[i]].tbl24[addresses[i] >> 8]);
    int deep = 0;
    for (int i = first; i < first + in_group; ++i) {
      const uint16_t entry = dir24_entry(&tables[numbers[i]].tbl24[addresses[i] >> 8]);
      hops[i] = entry;
      if (entry >= kFirstGroup) {
        second[deep] =
            &tables[numbers[i]].tbl8[(uint32_t)(entry - kFirstGroup) * kGroupEntries + (addresses[i] & 255u)];
        __builtin_prefetch(second[deep]);
        in_tbl8[deep++] = i;
      }
    }
    for (int i = 0; i < deep; ++i) hops[in_tbl8[i]] = dir24_entry(second[i]);
  }
}
