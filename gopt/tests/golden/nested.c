#include <stdint.h>

#include "gopt.h"

// Nested branches, loops and a switch; arrays and structs that live across a switch; marks that share one.
void walk(const uint32_t* table, uint32_t mask, const uint32_t* keys, uint32_t* out, uint32_t n) {
  foreach (i, n) {
    uint32_t seen[4] = {1, 2};
    uint32_t x = keys[i], other = x >> 8;
    for (uint32_t round = 0, step = 1; round < 4; ++round, step += 2) {
      if (x % 5 == 0) {
        g_expensive(&table[x & mask]);
        g_expensive(&table[other & mask]);
        x += table[x & mask] + table[other & mask];
      } else if (x % 5 == 1) {
        break;
      } else {
        seen[x & 3] += step;
      }
      switch (x & 3) {
        case 0:
        case 1:
          g_expensive(&table[x >> 3 & mask]);
          x ^= table[x >> 3 & mask];
          break;
        case 2:
          continue;
        default:
          x++;
      }
      do x = x * 3 + 1;
      while (x % 4 == 0);
    }
    out[i] = x + seen[x & 3];
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

// Nested branches, loops and a switch; arrays and structs that live across a switch; marks that share one.
void walk(const uint32_t* table, uint32_t mask, const uint32_t* keys, uint32_t* out, uint32_t n) {
  { /* Up to 8 lookups in flight. Variables saved: i, other, round, seen, step, x; shared: keys, mask, out, table. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
    enum { g_group = 8 };
    __typeof__((n) + 0) i[g_group];
    uint32_t seen[g_group][4];
    uint32_t x[g_group];
    uint32_t other[g_group];
    uint32_t round[g_group];
    uint32_t step[g_group];
    _Static_assert(sizeof seen <= 1 << 20, "what lookups in flight save takes more than 1 MiB of stack: use a smaller --group, or memory behind a pointer");
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
#line 8 "input.c"
        __builtin_memcpy(seen[g_i], (uint32_t [4]){1, 2}, sizeof seen[g_i]);
        x[g_i] = keys[i[g_i]]; other[g_i] = x[g_i] >> 8;
        for (round[g_i] = 0, step[g_i] = 1; round[g_i] < 4; ++round[g_i], step[g_i] += 2) {
          if ((x[g_i] % 5) == 0) {
            G_PREFETCH(&table[x[g_i] & mask]); G_PSS(&table[other[g_i] & mask], g_label_1); g_label_1:;
#line 14 "input.c"
            x[g_i] += table[x[g_i] & mask] + table[other[g_i] & mask];
          } else if ((x[g_i] % 5) == 1) {
            break;
          } else {
            seen[g_i][x[g_i] & 3] += step[g_i];
          }
          switch (x[g_i] & 3) {
            case 0:
            case 1:
              G_PSS(&table[(x[g_i] >> 3) & mask], g_label_2); g_label_2:;
              x[g_i] ^= table[(x[g_i] >> 3) & mask];
              break;
            case 2:
              continue;
            default:
              x[g_i]++;
          }
          do { x[g_i] = (x[g_i] * 3) + 1; } while ((x[g_i] % 4) == 0);
        }
#line 34 "input.c"
        out[i[g_i]] = x[g_i] + seen[g_i][x[g_i] & 3];
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
#line 36 "input.c"
}
