/* IPv6 lookups in a trie, the paper's third microbenchmark, from the rule that CPU and GPU compile. */
#include "bench/gopt/lookups.h"
#include "functions/ip6_lookup/trie_rule.h"
#include "gopt.h"

#ifdef __cplusplus
using namespace heddle::ip6_lookup; /* gopt's coroutines */
#endif

void ip6(const uint32_t* trie, const uint8_t (*addresses)[16], uint16_t* hops, int n) {
  foreach (i, n) {
    hops[i] = trie_lookup_at(trie, addresses[i]);
  }
}
