/* Lookups of many keys in the forms that gopt makes of lookups.c. */
#pragma once

#include "functions/cuckoo/bucket_rule.h"

#ifdef __cplusplus
namespace heddle::cuckoo {
extern "C" {
#endif

/* words[i]: that with keys[i], whose first bucket hashes[i] chooses, or 0; i in [0, n), n <= 64. Returns the i that
   have none, as bits. _avx512: where the processor has AVX-512F and BMI. */
#define CUCKOO_LOOKUPS(name) \
  uint64_t name(const struct Image* image, const uint32_t* hashes, const uint64_t* keys, uint64_t* words, int n)
CUCKOO_LOOKUPS(cuckoo_lookups_gopt);
CUCKOO_LOOKUPS(cuckoo_lookups_gopt_avx512);

#ifdef __cplusplus
}
} /* namespace heddle::cuckoo */
#endif
