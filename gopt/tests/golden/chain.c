#include <stddef.h>
#include <stdint.h>

#include "gopt.h"

struct entry {
  uint32_t key;
  const uint32_t* value;
  struct entry* next;
};

static inline uint32_t hash(uint32_t key) { return key * 2654435761u; }

/* The entry of `key` in a chain. */
static const struct entry* in_chain(const struct entry* e, uint32_t key) {
  while (e) {
    g_expensive(e);
    if (e->key == key) return e;
    e = e->next;
  }
  return NULL;
}

// A helper call that is inlined, early exits, a count.
int find(struct entry* const* table, uint32_t mask, const uint32_t* keys, uint32_t* out, int n) {
  int hits = 0;
  foreach (i, n) {
    // the bucket
    const uint32_t slot = hash(keys[i]) & mask;
    g_expensive(&table[slot]);
    const struct entry* e = in_chain(table[slot], keys[i]);
    if (!e) {
      out[i] = 0;
      continue;
    }
    g_expensive(e->value);
    out[i] = *e->value;
    hits++;
  }
  return hits;
}
// ======== gopt transform --backend goto
/* Made from input.c by gopt 0.1.0 (--backend goto --group 8): do not edit. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
/* Prefetch; save where this lookup goes on; switch to the next one. */
#define G_PREFETCH(address) __builtin_prefetch((const void *)(address), 0, 3)
#define G_SAVE(label) (g_labels[g_i] = &&label)
#define G_SWITCH()                               \
  do {                                           \
    g_i = g_i + 1 == g_slots ? 0 : g_i + 1;      \
    goto *g_labels[g_i];                         \
  } while (0)
#define G_PSS(address, label) \
  do {                        \
    G_PREFETCH(address);      \
    G_SAVE(label);            \
    G_SWITCH();               \
  } while (0)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#line 1 "input.c"
#include <stddef.h>
#include <stdint.h>

#include "gopt.h"

struct entry {
  uint32_t key;
  const uint32_t* value;
  struct entry* next;
};

static inline uint32_t hash(uint32_t key) { return key * 2654435761u; }

/* The entry of `key` in a chain. */
static const struct entry* in_chain(const struct entry* e, uint32_t key) {
  while (e) {
    g_expensive(e);
    if (e->key == key) return e;
    e = e->next;
  }
  return NULL;
}

// A helper call that is inlined, early exits, a count.
int find(struct entry* const* table, uint32_t mask, const uint32_t* keys, uint32_t* out, int n) {
  int hits = 0;
  { /* Up to 8 lookups in flight. Variables saved: e, e_2, i, key, slot; shared: keys, mask, out, table; sequential: hits. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    __typeof__((n) + 0) i[g_group];
    uint32_t slot[g_group];
    const struct entry *e[g_group];
    const struct entry *e_2[g_group];
    uint32_t key[g_group];
    void *g_labels[g_group];
    const __typeof__((n) + 0) g_count = n;
    __typeof__((n) + 0) g_next = 0; /* the first lookup that is not under way */
    const unsigned g_slots = g_count >= g_group ? (unsigned)g_group : g_count > 0 ? (unsigned)g_count : 0u;
    (void)in_chain; /* inlined below */
    if (g_slots > 0) {
      unsigned long long g_running = ~0ull >> (64 - g_slots); /* slots whose lookups are not all finished */
      unsigned g_i; /* the slot whose turn it is */
      for (g_i = 0; g_i < g_slots; ++g_i) g_labels[g_i] = &&g_start;
      g_i = 0;
    g_start:
      while (g_next < g_count) { /* a slot takes lookup after lookup */
        i[g_i] = g_next++;
#line 29 "input.c"
        slot[g_i] = hash(keys[i[g_i]]) & mask;
        G_PSS(&table[slot[g_i]], g_label_1); g_label_1:;
        { /* in_chain() */ e_2[g_i] = table[slot[g_i]]; key[g_i] = keys[i[g_i]];
#line 16 "input.c"
          G_SAVE(g_label_2); while (e_2[g_i]) {
            G_PREFETCH(e_2[g_i]); G_SWITCH(); g_label_2:;
            if (e_2[g_i]->key == key[g_i]) { e[g_i] = e_2[g_i]; goto in_chain_end_1; }
            e_2[g_i] = e_2[g_i]->next;
          }
          e[g_i] = (void *) 0;
        } in_chain_end_1:;
#line 32 "input.c"
        if (!e[g_i]) {
          out[i[g_i]] = 0;
          continue;
        }
        G_PSS(e[g_i]->value, g_label_3); g_label_3:;
        out[i[g_i]] = *e[g_i]->value;
        hits++;
      }
    g_end:
      g_running &= ~(1ull << g_i);
      G_SAVE(g_end);
      if (g_running != 0) G_SWITCH();
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  }
#line 40 "input.c"
  return hits;
}
