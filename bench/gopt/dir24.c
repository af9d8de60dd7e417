/* DIR-24-8 from the rule that CPU and GPU compile, in one of several tables (as of virtual routers). */
#include "bench/gopt/lookups.h"
#include "functions/ip_lookup/direct_rule.h"
#include "gopt.h"

#ifdef __cplusplus
using namespace heddle::ip_lookup; /* gopt's coroutines */
#endif

void dir24(const struct dir24_table* tables, const uint8_t* numbers, const uint32_t* addresses, uint16_t* hops, int n) {
  foreach (i, n) {
    const struct dir24_table* table = &tables[numbers[i]];
    hops[i] = dir24_lookup(table->tbl24, table->tbl8, addresses[i]);
  }
}
