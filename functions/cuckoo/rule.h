#pragma once

#include "functions/cuckoo/bucket_rule.h"

namespace heddle::cuckoo {

HEDDLE_HD inline uint32_t hash_of(const Image& image, uint64_t key) { return hash_in(&image, key); }
HEDDLE_HD inline uint32_t first_bucket(const Image& image, uint32_t hash) { return scaled(hash, image.buckets); }
HEDDLE_HD inline uint32_t other_bucket(const Image& image, uint32_t bucket, uint64_t key) {
  return other_of(&image, bucket, key);
}
HEDDLE_HD inline const Bucket& bucket_of(const Image& image, uint32_t number) { return *bucket_at(&image, number); }

#ifdef __CUDA_ARCH__
__device__ inline uint32_t moves_of(const Image& image) { return *static_cast<const volatile uint32_t*>(&image.moves); }
__device__ inline void fence() { __threadfence(); }
#else
inline uint32_t moves_of(const Image& image) { return __atomic_load_n(&image.moves, __ATOMIC_ACQUIRE); }
inline void fence() { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
#endif

/** Calls search() again if entries have moved meanwhile, so that it has missed none: some hundred times at most, since
 *  on a GPU nobody knows when a move ends. */
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

/** The word with this key, or 0; within search_unmoved() where others write. */
HEDDLE_HD inline uint64_t lookup(const Image& image, uint32_t hash, uint64_t key) {
  return search_both(&image, hash, key);
}

}  // namespace heddle::cuckoo
