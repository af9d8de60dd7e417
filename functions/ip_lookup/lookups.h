/* Lookups of many addresses in the form that gopt makes of lookups.c. */
#pragma once

#include "functions/ip_lookup/direct_rule.h"

#ifdef __cplusplus
namespace heddle::ip_lookup {
extern "C" {
#endif

/* hops[i]: dir24_lookup() of addresses[i], i in [0, n). */
#define DIR24_LOOKUPS(name) \
  void name(const uint16_t* tbl24, const uint16_t* tbl8, const uint32_t* addresses, uint16_t* hops, int n)
DIR24_LOOKUPS(dir24_lookups_gopt);

#ifdef __cplusplus
}
} /* namespace heddle::ip_lookup */
#endif
