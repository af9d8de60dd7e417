/* A chain of dependent accesses: what pointer-based structures do, with hardly any computation. */
#include "bench/gopt/lookups.h"
#include "gopt.h"

void chase(const uint32_t* table, uint32_t* elements, int n, int depth) {
  foreach (i, n) {
    uint32_t x = elements[i];
    for (int d = 0; d < depth; ++d) {
      g_expensive(&table[x]);
      x = table[x];
    }
    elements[i] = x;
  }
}
