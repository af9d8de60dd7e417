/* For gopt: lookups that take turns while buckets are on their way. */
#include "functions/cuckoo/lookups.h"

#include "gopt.h"

CUCKOO_LOOKUPS(cuckoo_lookups);

CUCKOO_LOOKUPS(cuckoo_lookups) {
  uint64_t missing = 0;
  foreach (i, n) {
    words[i] = search_both(image, hashes[i], keys[i]);
    missing |= (uint64_t)(words[i] == 0) << i;
  }
  return missing;
}
