/* For gopt: lookups that take turns while entries are on their way. */
#include "functions/ip_lookup/lookups.h"

#include "gopt.h"

DIR24_LOOKUPS(dir24_lookups);

DIR24_LOOKUPS(dir24_lookups) {
  foreach (i, n) {
    hops[i] = dir24_lookup(tbl24, tbl8, addresses[i]);
  }
}
