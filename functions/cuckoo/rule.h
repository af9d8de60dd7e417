#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::cuckoo {

/** A 2-8 cuckoo table (Pagh, Rodler, ESA 2001; buckets of a cache line as in Fan, Andersen, Kaminsky, "MemC3", NSDI 2013), the
 *  same bytes on CPU and GPU. An entry is a word: its key in the lower 48 bits, its value, which is not 0, in the upper 16. It
 *  lies in one of two buckets: one is chosen by a hash that the owner has, the other follows from the first and the key,
 *  so that entries can be moved without it. */
constexpr int kSlots = 8, kValueShift = 48;
constexpr uint64_t kKeyMask = (uint64_t{1} << kValueShift) - 1;

struct alignas(64) Bucket {
  uint64_t word[kSlots];  ///< 0: empty
};

struct alignas(64) Image {
  uint32_t moves;         ///< odd while entries move from one bucket to the other: a search may miss them then
  uint64_t seed;          ///< makes buckets differ from run to run, so that nobody can choose keys that crowd
  uint32_t buckets;       ///< of bucket[]
  uint32_t owner;         ///< what its owner wants to find here, and
  uint32_t constants[2];  ///< what of it never changes
  HEDDLE_HD const Bucket& bucket(uint32_t number) const { return reinterpret_cast<const Bucket*>(this + 1)[number]; }
};

HEDDLE_HD inline uint64_t mixed(uint64_t x) {  // the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/** A number below `limit` from 32 random bits. */
HEDDLE_HD inline uint32_t scaled(uint32_t bits, uint32_t limit) {
  return static_cast<uint32_t>(uint64_t{bits} * limit >> 32);
}

/** 32 random bits that choose the first bucket of keys that are their own hash. */
HEDDLE_HD inline uint32_t hash_of(const Image& image, uint64_t key) {
  return static_cast<uint32_t>(mixed(key ^ image.seed) >> 32);
}

HEDDLE_HD inline uint32_t first_bucket(const Image& image, uint32_t hash) { return scaled(hash, image.buckets); }
/** The other bucket of a key that may be in `bucket`; its own inverse. */
HEDDLE_HD inline uint32_t other_bucket(const Image& image, uint32_t bucket, uint64_t key) {
  const uint32_t sum = scaled(static_cast<uint32_t>(mixed(key ^ image.seed)), image.buckets);
  return sum >= bucket ? sum - bucket : sum + (image.buckets - bucket);
}

#ifdef __CUDA_ARCH__
/** The words of a bucket, past a multiprocessor's own cache, which may be older than what the search has seen before. */
__device__ inline ulonglong2 two_words(const Bucket& bucket, int slot) {
  return __ldcg(reinterpret_cast<const ulonglong2*>(bucket.word + slot));
}
__device__ inline uint32_t moves_of(const Image& image) { return *static_cast<const volatile uint32_t*>(&image.moves); }
__device__ inline void fence() { __threadfence(); }
#else
inline uint32_t moves_of(const Image& image) { return __atomic_load_n(&image.moves, __ATOMIC_ACQUIRE); }
inline void fence() { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
#endif

/** Calls search() again if entries have moved meanwhile, so that it has missed none: some hundred times at most, since on a GPU
 *  nobody knows when a move ends. */
template <class Search>
HEDDLE_HD inline void search_unmoved(const Image& image, const Search& search) {
  for (int turn = 0; turn < 256; ++turn) {
    const uint32_t before = moves_of(image);
    fence();
    search();
    fence();
    if (before % 2 == 0 && moves_of(image) == before) return;
  }
}

/** The word with this key in a bucket, or 0. */
HEDDLE_HD inline uint64_t find_in(const Bucket& bucket, uint64_t key) {
  uint64_t found = 0;
#ifdef __CUDA_ARCH__
  for (int slot = 0; slot < kSlots; slot += 2) {
    const ulonglong2 words = two_words(bucket, slot);
    found = (words.x & kKeyMask) == key && words.x != 0 ? words.x : found;
    found = (words.y & kKeyMask) == key && words.y != 0 ? words.y : found;
  }
#else
  for (const uint64_t& slot : bucket.word) {
    const uint64_t word = __atomic_load_n(&slot, __ATOMIC_RELAXED);
    found = (word & kKeyMask) == key && word != 0 ? word : found;
  }
#endif
  return found;
}

/** The word with this key, or 0; within search_unmoved() where others write. */
HEDDLE_HD inline uint64_t lookup(const Image& image, uint32_t hash, uint64_t key) {
  const uint32_t bucket = first_bucket(image, hash);
  const uint64_t word = find_in(image.bucket(bucket), key);
  return word != 0 ? word : find_in(image.bucket(other_bucket(image, bucket, key)), key);
}

}  // namespace heddle::cuckoo
