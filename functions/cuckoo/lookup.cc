// Lookups of many keys on the CPU. By hand: all first buckets are asked for, then the second ones of those that are not
// there. By gopt: each goes on with its second bucket as soon as it has seen the first.

#include <algorithm>
#include <array>
#include <random>

#include "core/fastest.h"
#include "functions/cuckoo/lookups.h"
#include "functions/cuckoo/table.h"

#ifdef __x86_64__
#include "functions/cuckoo/avx512.h"
#endif

namespace heddle::cuckoo {
namespace {

constexpr int kGroup = 64;

uint64_t by_hand(const Image* image, const uint32_t* hashes, const uint64_t* keys, uint64_t* words, int n) {
  const Bucket* buckets[kGroup];
  for (int i = 0; i < n; ++i) __builtin_prefetch(buckets[i] = bucket_at(image, scaled(hashes[i], image->buckets)));
  uint64_t missing = 0;
  for (int i = 0; i < n; ++i) {
    words[i] = word_in(buckets[i], keys[i]);
    if (words[i] != 0) continue;
    missing |= uint64_t{1} << i;
    const uint32_t first = scaled(hashes[i], image->buckets);
    __builtin_prefetch(buckets[i] = bucket_at(image, other_of(image, first, keys[i])));
  }
  for (uint64_t left = missing; left != 0; left &= left - 1) {
    const int i = __builtin_ctzll(left);
    words[i] = word_in(buckets[i], keys[i]);
    if (words[i] != 0) missing &= ~(uint64_t{1} << i);
  }
  return missing;
}

#ifdef __x86_64__
CUCKOO_AVX512 uint64_t by_hand_avx512(const Image* image, const uint32_t* hashes, const uint64_t* keys, uint64_t* words,
                                      int n) {
  const Bucket* buckets[kGroup];
  for (int i = 0; i < n; ++i) __builtin_prefetch(buckets[i] = bucket_at(image, scaled(hashes[i], image->buckets)));
  uint64_t missing = 0;
  for (int i = 0; i < n; ++i) {
    words[i] = word_in_avx512(buckets[i]->word, keys[i], kKeyMask);
    if (words[i] != 0) continue;
    missing |= uint64_t{1} << i;
    const uint32_t first = scaled(hashes[i], image->buckets);
    __builtin_prefetch(buckets[i] = bucket_at(image, other_of(image, first, keys[i])));
  }
  for (uint64_t left = missing; left != 0; left &= left - 1) {
    const int i = __builtin_ctzll(left);
    words[i] = word_in_avx512(buckets[i]->word, keys[i], kKeyMask);
    if (words[i] != 0) missing &= ~(uint64_t{1} << i);
  }
  return missing;
}
#endif

constexpr Form kPortable[] = {{"by hand", by_hand}, {"gopt", cuckoo_lookups_gopt}};

}  // namespace

std::span<const Form> forms() {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)  // which does not know what vectors load
  static constexpr Form kAvx512[] = {
      {"by hand, AVX-512", by_hand_avx512}, {"gopt, AVX-512", cuckoo_lookups_gopt_avx512}, kPortable[0], kPortable[1]};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi")) return kAvx512;
#endif
  return kPortable;
}

void CuckooTable::choose_form() {
  // What has never been written is the system's one page of zeros, which is always cached.
  for (uint32_t number = 0; number < image().buckets; ++number)
    __atomic_fetch_or(&bucket(number).word[0], 0, __ATOMIC_RELAXED);
  const std::span<const Form> all = forms();
  std::minstd_rand random(1);
  uint32_t hashes[kGroup];
  uint64_t keys[kGroup], words[kGroup];
  // Keys that are not there: both buckets are wanted, and none has been looked at before.
  form_ = &all[fastest(all.size(), [&](size_t form) {
    for (int lap = 0; lap < 16; ++lap) {
      for (int i = 0; i < kGroup; ++i) keys[i] = random(), hashes[i] = static_cast<uint32_t>(random() << 1);
      all[form].look_up(&image(), hashes, keys, words, kGroup);
    }
  })];
}

void CuckooTable::lookup_bulk(const Form& form, const uint32_t* hashes, const uint64_t* keys, uint64_t* words,
                              int n) const {
  for (int base = 0; base < n; base += kGroup) {
    const uint32_t before = moves_of(image());
    uint64_t missing = form.look_up(&image(), hashes + base, keys + base, words + base, std::min(kGroup, n - base));
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
