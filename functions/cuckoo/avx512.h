/* A bucket of a cuckoo table (bucket_rule.h) by AVX-512. C and C++; functions that call this have the same target. */
#pragma once

#include <immintrin.h>
#include <stdint.h>

#define CUCKOO_AVX512 __attribute__((target("avx512f,bmi")))

/* The word of words [8], a cache line, whose bits in `mask` are `key`, or 0. Each is read whole, as loads of aligned 8
   bytes within a vector are on processors with AVX-512. */
CUCKOO_AVX512 static inline uint64_t word_in_avx512(const uint64_t* words, uint64_t key, uint64_t mask) {
  const __m512i keys = _mm512_and_si512(_mm512_load_si512(words), _mm512_set1_epi64((long long)mask));
  unsigned hits = _mm512_cmpeq_epi64_mask(keys, _mm512_set1_epi64((long long)key));
  uint64_t word = 0;
  /* Key 0 is that of empty slots, too. */
  for (; hits != 0 && word == 0; hits &= hits - 1) {
    const uint64_t found = __atomic_load_n(&words[__builtin_ctz(hits)], __ATOMIC_RELAXED);
    word = (found & mask) == key ? found : 0; /* it may have been replaced meanwhile */
  }
  return word;
}
