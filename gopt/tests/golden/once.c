#include <stdint.h>

#include "gopt.h"

// One mark: its label is saved once for each slot.
void follow(const uint32_t* table, int depth, const uint32_t* keys, uint32_t* out, int n) {
  foreach (i, n) {
    uint32_t x = keys[i];
    for (int d = 0; d < depth; ++d) {
      g_expensive(&table[x]);
      x = table[x];
    }
    out[i] = x;
  }
}

// A loop with one mark among others saves its label before; not one that is jumped into, nor one with two marks.
void search(const uint32_t* table, const uint32_t* keys, uint32_t* out, int n) {
  foreach (i, n) {
    uint32_t x = keys[i];
    for (int round = 0; round < 3; ++round) {
      while (x & 1) {
        g_expensive(&table[x]);
        x = table[x] >> 1;
      }
    }
    if (x & 2) goto inside;
    while (x & 4) {
      x ^= 4;
    inside:
      g_expensive(&table[x]);
      x = table[x];
    }
    do {
      g_expensive(&table[x]);
      x = table[x];
      g_expensive(&table[x]);
      x = table[x] & 7;
    } while (x > 3);
    out[i] = x;
  }
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
#include <stdint.h>

#include "gopt.h"

// One mark: its label is saved once for each slot.
void follow(const uint32_t* table, int depth, const uint32_t* keys, uint32_t* out, int n) {
  { /* Up to 8 lookups in flight. Variables saved: d, i, x; shared: depth, keys, out, table. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    __typeof__((n) + 0) i[g_group];
    uint32_t x[g_group];
    int d[g_group];
    void *g_labels[g_group];
    const __typeof__((n) + 0) g_count = n;
    __typeof__((n) + 0) g_next = 0; /* the first lookup that is not under way */
    const unsigned g_slots = g_count >= g_group ? (unsigned)g_group : g_count > 0 ? (unsigned)g_count : 0u;
    if (g_slots > 0) {
      unsigned long long g_running = ~0ull >> (64 - g_slots); /* slots whose lookups are not all finished */
      unsigned g_i; /* the slot whose turn it is */
      for (g_i = 0; g_i < g_slots; ++g_i) g_labels[g_i] = &&g_start;
      g_i = 0;
    g_start:
      G_SAVE(g_label_1);
      while (g_next < g_count) { /* a slot takes lookup after lookup */
        i[g_i] = g_next++;
#line 8 "input.c"
        x[g_i] = keys[i[g_i]];
        for (d[g_i] = 0; d[g_i] < depth; ++d[g_i]) {
          G_PREFETCH(&table[x[g_i]]); G_SWITCH(); g_label_1:;
          x[g_i] = table[x[g_i]];
        }
        out[i[g_i]] = x[g_i];
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
#line 15 "input.c"
}

// A loop with one mark among others saves its label before; not one that is jumped into, nor one with two marks.
void search(const uint32_t* table, const uint32_t* keys, uint32_t* out, int n) {
  { /* Up to 8 lookups in flight. Variables saved: i, round, x; shared: keys, out, table. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    __typeof__((n) + 0) i[g_group];
    uint32_t x[g_group];
    int round[g_group];
    void *g_labels[g_group];
    const __typeof__((n) + 0) g_count = n;
    __typeof__((n) + 0) g_next = 0; /* the first lookup that is not under way */
    const unsigned g_slots = g_count >= g_group ? (unsigned)g_group : g_count > 0 ? (unsigned)g_count : 0u;
    if (g_slots > 0) {
      unsigned long long g_running = ~0ull >> (64 - g_slots); /* slots whose lookups are not all finished */
      unsigned g_i; /* the slot whose turn it is */
      for (g_i = 0; g_i < g_slots; ++g_i) g_labels[g_i] = &&g_start;
      g_i = 0;
    g_start:
      while (g_next < g_count) { /* a slot takes lookup after lookup */
        i[g_i] = g_next++;
#line 20 "input.c"
        x[g_i] = keys[i[g_i]];
        G_SAVE(g_label_1); for (round[g_i] = 0; round[g_i] < 3; ++round[g_i]) {
          while (x[g_i] & 1) {
            G_PREFETCH(&table[x[g_i]]); G_SWITCH(); g_label_1:;
            x[g_i] = table[x[g_i]] >> 1;
          }
        }
        if (x[g_i] & 2) { goto inside; }
        while (x[g_i] & 4) {
          x[g_i] ^= 4;
          inside:;
          G_PSS(&table[x[g_i]], g_label_2); g_label_2:;
          x[g_i] = table[x[g_i]];
        }
        do {
          G_PSS(&table[x[g_i]], g_label_3); g_label_3:;
          x[g_i] = table[x[g_i]];
          G_PSS(&table[x[g_i]], g_label_4); g_label_4:;
          x[g_i] = table[x[g_i]] & 7;
        } while (x[g_i] > 3);
        out[i[g_i]] = x[g_i];
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
#line 42 "input.c"
}
