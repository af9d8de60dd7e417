/* IPv6 lookups in a trie, the paper's third microbenchmark. */
#include "bench/gopt/lookups.h"
#include "gopt.h"

void ip6(const struct ip6_trie* trie, const uint8_t (*addresses)[16], uint32_t* hops, int n) {
  foreach (i, n) {
    hops[i] = trie_lookup(trie->tbl24, trie->tbl8, addresses[i]);
  }
}
