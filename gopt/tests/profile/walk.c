#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "gopt.h"
__attribute__((noinline)) void walk(const uint32_t *table, uint32_t *elements, int n) {
  foreach (i, n) {
    uint32_t x = elements[i];
    for (int d = 0; d < 100; ++d) {
      x = x * 5 & 0x3ffffff;
      x = table[x];
    }
    elements[i] = x;
  }
}
int main(void) {
  uint32_t *table = malloc(4u << 26), elements[8192];
  for (uint32_t i = 0; i < 1u << 26; ++i) table[i] = (i * 2654435761u + 12345) & 0x3ffffff;
  for (uint32_t i = 0; i < 8192; ++i) elements[i] = i * 77777;
  for (int k = 0; k < 20; ++k) walk(table, elements, 8192);
  printf("%u\n", elements[3]);
}
