// A batched lookup in a hash table with chains, and a program that times it: README.md has the five minutes.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gopt.h"

struct entry {
  uint32_t key, value;
  struct entry* next;
};

static inline uint32_t hash(uint32_t key) {
  key *= 0x9e3779b1u;
  return key ^ key >> 15;
}

// values [n]: those of keys [n], 0 for a key that is not there. The table has mask + 1 chains.
void find(struct entry* const* table, uint32_t mask, const uint32_t* keys, uint32_t* values, int n) {
  foreach (i, n) {
    const uint32_t slot = hash(keys[i]) & mask;
    g_expensive(&table[slot]);
    const struct entry* entry = table[slot];
    values[i] = 0;
    while (entry != NULL) {
      g_expensive(entry);
      if (entry->key == keys[i]) {
        values[i] = entry->value;
        break;
      }
      entry = entry->next;
    }
  }
}

int main(void) {
  enum { kEntries = 1 << 24, kChains = 1 << 21, kBatch = 1024 };
  struct entry** table = calloc(kChains, sizeof *table);
  struct entry* entries = malloc(kEntries * sizeof *entries);
  if (table == NULL || entries == NULL) return 1;
  for (uint32_t k = 0; k < kEntries; ++k) {
    struct entry** head = &table[hash(k * 77777u) & (kChains - 1)];
    entries[k] = (struct entry){k * 77777u, k, *head};
    *head = &entries[k];
  }
  uint32_t keys[kBatch], values[kBatch], state = 1, sum = 0;
  const clock_t start = clock();
  for (int batch = 0; batch < 1000; ++batch) {
    for (int i = 0; i < kBatch; ++i) {
      state = state * 1664525u + 1013904223u;
      keys[i] = (state >> 8) * 77777u;
    }
    find(table, kChains - 1, keys, values, kBatch);
    for (int i = 0; i < kBatch; ++i) sum += values[i];
  }
  const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
  printf("%.1f million lookups a second (sum %u)\n", 1000 * kBatch / seconds * 1e-6, sum);
  return 0;
}
