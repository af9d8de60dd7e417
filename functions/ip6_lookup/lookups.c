/* For gopt: lookups that take turns while nodes are on their way. */
#include "functions/ip6_lookup/lookups.h"

#include "gopt.h"

IP6_LOOKUPS(ip6_lookups);
IP6_LOOKUPS(ip6_trie_lookups);

IP6_LOOKUPS(ip6_lookups) {
  foreach (i, n) {
    hops[i] = value_of(image, half_at(addresses[i]), half_at(addresses[i] + 8));
  }
}

IP6_LOOKUPS(ip6_trie_lookups) {
  const uint32_t* trie = (const uint32_t*)behind(image, image->trie);
  foreach (i, n) {
    hops[i] = trie_lookup_at(trie, addresses[i]);
  }
}
