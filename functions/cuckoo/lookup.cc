// Lookups of many keys on the CPU: all first buckets are asked for, then the second ones of those that are not there.

#include <algorithm>

#include "functions/cuckoo/table.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace heddle::cuckoo {
namespace {

constexpr int kGroup = 64;

/** Looks up at most kGroup keys; returns those that it has not found as bits. */
using Search = uint64_t (*)(const Image&, const uint32_t* hashes, const uint64_t* keys, uint64_t* words, int n);

uint64_t search_portable(const Image& image, const uint32_t* hashes, const uint64_t* keys, uint64_t* words, int n) {
  uint32_t buckets[kGroup];
  for (int i = 0; i < n; ++i) __builtin_prefetch(&image.bucket(buckets[i] = first_bucket(image, hashes[i])));
  uint64_t missing = 0;
  for (int i = 0; i < n; ++i) {
    words[i] = find_in(image.bucket(buckets[i]), keys[i]);
    if (words[i] != 0) continue;
    missing |= uint64_t{1} << i;
    __builtin_prefetch(&image.bucket(buckets[i] = other_bucket(image, buckets[i], keys[i])));
  }
  for (uint64_t left = missing; left != 0; left &= left - 1) {
    const int i = __builtin_ctzll(left);
    words[i] = find_in(image.bucket(buckets[i]), keys[i]);
    if (words[i] != 0) missing &= ~(uint64_t{1} << i);
  }
  return missing;
}

#ifdef __x86_64__
#define HEDDLE_AVX512 [[gnu::target("avx512f,bmi")]]

/** The words of a bucket; each is read whole, as loads of aligned 8 bytes within a vector are on processors with AVX-512. */
HEDDLE_AVX512 inline unsigned matches(const Bucket& bucket, uint64_t key) {
  const __m512i keys = _mm512_and_si512(_mm512_load_si512(&bucket), _mm512_set1_epi64(static_cast<int64_t>(kKeyMask)));
  return _mm512_cmpeq_epi64_mask(keys, _mm512_set1_epi64(static_cast<int64_t>(key)));
}

HEDDLE_AVX512 inline uint64_t find_avx512(const Bucket& bucket, uint64_t key) {
  unsigned hits = matches(bucket, key);
  uint64_t word = 0;
  // Key 0 is that of empty slots, too.
  for (; hits != 0 && word == 0; hits &= hits - 1) {
    const uint64_t found = __atomic_load_n(&bucket.word[__builtin_ctz(hits)], __ATOMIC_RELAXED);
    word = (found & kKeyMask) == key ? found : 0;  // it may have been replaced meanwhile
  }
  return word;
}

HEDDLE_AVX512 uint64_t search_avx512(const Image& image, const uint32_t* hashes, const uint64_t* keys, uint64_t* words,
                                     int n) {
  uint32_t buckets[kGroup];
  for (int i = 0; i < n; ++i) __builtin_prefetch(&image.bucket(buckets[i] = first_bucket(image, hashes[i])));
  uint64_t missing = 0;
  for (int i = 0; i < n; ++i) {
    words[i] = find_avx512(image.bucket(buckets[i]), keys[i]);
    if (words[i] != 0) continue;
    missing |= uint64_t{1} << i;
    __builtin_prefetch(&image.bucket(buckets[i] = other_bucket(image, buckets[i], keys[i])));
  }
  for (uint64_t left = missing; left != 0; left &= left - 1) {
    const int i = __builtin_ctzll(left);
    words[i] = find_avx512(image.bucket(buckets[i]), keys[i]);
    if (words[i] != 0) missing &= ~(uint64_t{1} << i);
  }
  return missing;
}
#endif

Search best_search() {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi")) return search_avx512;
#endif
  return search_portable;
}
const Search search = best_search();

}  // namespace

void CuckooTable::lookup_bulk(const uint32_t* hashes, const uint64_t* keys, uint64_t* words, int n) const {
  for (int base = 0; base < n; base += kGroup) {
    const uint32_t before = moves_of(image());
    uint64_t missing = search(image(), hashes + base, keys + base, words + base, std::min(kGroup, n - base));
    if (missing == 0) continue;
    fence();
    if (before % 2 == 0 && moves_of(image()) == before) continue;
    for (; missing != 0; missing &= missing - 1) {
      const int i = base + __builtin_ctzll(missing);
      words[i] = find(hashes[i], keys[i]);
    }
  }
}

}  // namespace heddle::cuckoo
