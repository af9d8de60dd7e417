/* A 2-8 cuckoo table (Pagh, Rodler, ESA 2001; buckets of a cache line as in Fan, Andersen, Kaminsky, "MemC3", NSDI
   2013), the same bytes on CPU and GPU, and how it is searched. An entry is a word: its key in the lower 48 bits, its
   value, which is not 0, in the upper 16. It lies in one of two buckets: one is chosen by a hash that the owner has,
   the other follows from the first and the key, so that entries can be moved without it.
   Plain C11 that is also C++ and CUDA, so that gopt can take it as it stands. */
#pragma once

#include <stdint.h>

#include "core/macros.h"

#if defined(__AVX512F__) && defined(__BMI__) && !defined(__CUDACC__) && !defined(__GOPT__)
#define CUCKOO_BY_AVX512 /* by files that are compiled for it */
#include "functions/cuckoo/avx512.h"
#endif

#ifdef __cplusplus
namespace heddle::cuckoo {
#endif

enum { kSlots = 8, kValueShift = 48 };
static const uint64_t kKeyMask = ((uint64_t)1 << kValueShift) - 1;

struct __attribute__((aligned(64))) Bucket {
  uint64_t word[kSlots]; /* 0: empty */
};

struct __attribute__((aligned(64))) Image {
  uint32_t moves;        /* odd while entries move from one bucket to the other: a search may miss them then */
  uint64_t seed;         /* makes buckets differ from run to run, so that nobody can choose keys that crowd */
  uint32_t buckets;      /* of those that follow the image */
  uint32_t owner;        /* what its owner wants to find here, and */
  uint32_t constants[2]; /* what of it never changes */
};

HEDDLE_HD static inline const struct Bucket* bucket_at(const struct Image* image, uint32_t number) {
  return (const struct Bucket*)(const void*)(image + 1) + number;
}

HEDDLE_HD static inline uint64_t mixed(uint64_t x) { /* the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) */
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* A number below `limit` from 32 random bits. */
HEDDLE_HD static inline uint32_t scaled(uint32_t bits, uint32_t limit) {
  return (uint32_t)((uint64_t)bits * limit >> 32);
}

/* 32 random bits that choose the first bucket of keys that are their own hash. */
HEDDLE_HD static inline uint32_t hash_in(const struct Image* image, uint64_t key) {
  return (uint32_t)(mixed(key ^ image->seed) >> 32);
}

/* The other bucket of a key that may be in `bucket`; its own inverse. */
HEDDLE_HD static inline uint32_t other_of(const struct Image* image, uint32_t bucket, uint64_t key) {
  const uint32_t sum = scaled((uint32_t)mixed(key ^ image->seed), image->buckets);
  return sum >= bucket ? sum - bucket : sum + (image->buckets - bucket);
}

/* The word with this key in a bucket, or 0. On a GPU past a multiprocessor's own cache, which may be older than what
   the search has seen before. */
HEDDLE_HD static inline uint64_t word_in(const struct Bucket* bucket, uint64_t key) {
#ifdef CUCKOO_BY_AVX512
  return word_in_avx512(bucket->word, key, kKeyMask);
#else
  uint64_t found = 0;
#ifdef __CUDA_ARCH__
  for (int slot = 0; slot < kSlots; slot += 2) {
    const ulonglong2 words = __ldcg((const ulonglong2*)(bucket->word + slot));
    found = (words.x & kKeyMask) == key && words.x != 0 ? words.x : found;
    found = (words.y & kKeyMask) == key && words.y != 0 ? words.y : found;
  }
#else
  for (int slot = 0; slot < kSlots; ++slot) {
    const uint64_t word = __atomic_load_n(&bucket->word[slot], __ATOMIC_RELAXED);
    found = (word & kKeyMask) == key && word != 0 ? word : found;
  }
#endif
  return found;
#endif
}

/* The word with this key, or 0. `hash` chooses the first bucket. */
HEDDLE_HD static inline uint64_t search_both(const struct Image* image, uint32_t hash, uint64_t key) {
  const uint32_t first = scaled(hash, image->buckets);
  const struct Bucket* bucket = bucket_at(image, first);
  g_expensive(bucket);
  const uint64_t word = word_in(bucket, key);
  if (word != 0) return word;
  bucket = bucket_at(image, other_of(image, first, key));
  g_expensive(bucket);
  return word_in(bucket, key);
}

#ifdef __cplusplus
} /* namespace heddle::cuckoo */
#endif
