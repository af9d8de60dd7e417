/* Lookups of many addresses in the forms that gopt makes of lookups.c. */
#pragma once

#include "functions/ip6_lookup/tree_rule.h"
#include "functions/ip6_lookup/trie_rule.h"

#ifdef __cplusplus
namespace heddle::ip6_lookup {
extern "C" {
#endif

/* hops[i]: value_of() of addresses[i], as they lie in packets, or trie_lookup_at() in the image's trie, i in [0, n).
   _avx512: where the processor has AVX-512DQ and POPCNT. */
#define IP6_LOOKUPS(name) void name(const struct Image* image, const uint8_t(*addresses)[16], uint16_t* hops, int n)
IP6_LOOKUPS(ip6_lookups_gopt);
IP6_LOOKUPS(ip6_lookups_gopt_avx512);
IP6_LOOKUPS(ip6_trie_lookups_gopt);
IP6_LOOKUPS(ip6_trie_lookups_gopt_avx512);

#ifdef __cplusplus
}
} /* namespace heddle::ip6_lookup */
#endif
