// Lookups of many addresses in a DirectTable on the CPU.

#include <algorithm>
#include <array>

#include "core/fastest.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/lookups.h"
#include "functions/ip_lookup/simd.h"

namespace heddle::ip_lookup {
namespace {

void by_hand(const DirectImage& image, const uint32_t* addresses, uint16_t* hops, int n) {
  constexpr int kAhead = 32;  // cache misses in flight at once
  for (int done = 0; done < n;) {
    const int end = std::min(n, done + kAhead);
    for (int i = done; i < end; ++i) __builtin_prefetch(&image.tbl24[addresses[i] >> 8]);
    for (; done < end; ++done) hops[done] = hop_of(image, addresses[done]);
  }
}

void one_by_one(const DirectImage& image, const uint32_t* addresses, uint16_t* hops, int n) {
  for (int i = 0; i < n; ++i) hops[i] = hop_of(image, addresses[i]);
}

void by_gopt(const DirectImage& image, const uint32_t* addresses, uint16_t* hops, int n) {
  dir24_lookups_gopt(image.tbl24, image.tbl8[0], addresses, hops, n);
}

#ifdef HEDDLE_AVX2
// A gather fetches four bytes for each two-byte entry: the upper two are dropped, and those after the last entry of a
// level belong to the next member of the image. No entry is torn: it is aligned, so it lies within one cache line.

[[gnu::target("avx2")]] void gather_eights(const DirectImage& image, const uint32_t* addresses, uint16_t* hops, int n) {
  const auto* tbl24 = reinterpret_cast<const int*>(image.tbl24);
  const auto* tbl8 = reinterpret_cast<const int*>(image.tbl8);
  const __m256i low16 = _mm256_set1_epi32(0xffff), low8 = _mm256_set1_epi32(0xff);
  const __m256i first_group = _mm256_set1_epi32(kFirstGroup), last_hop = _mm256_set1_epi32(kFirstGroup - 1);
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i address = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(addresses + i));
    __m256i entry = _mm256_and_si256(_mm256_i32gather_epi32(tbl24, _mm256_srli_epi32(address, 8), 2), low16);
    const __m256i in_group = _mm256_cmpgt_epi32(entry, last_hop);
    if (!_mm256_testz_si256(in_group, in_group)) {
      const __m256i group = _mm256_slli_epi32(_mm256_sub_epi32(entry, first_group), 8);
      const __m256i at = _mm256_or_si256(group, _mm256_and_si256(address, low8));
      entry = _mm256_and_si256(_mm256_mask_i32gather_epi32(entry, tbl8, at, in_group, 2), low16);
    }
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(entry, entry), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(hops + i), _mm256_castsi256_si128(packed));
  }
  by_hand(image, addresses + i, hops + i, n - i);
}

/** 32 lookups at a time: two gathers are under way at once, and the second levels of both follow together. */
[[gnu::target("avx512f")]] void gather_sixteens(const DirectImage& image, const uint32_t* addresses, uint16_t* hops,
                                                int n) {
  const __m512i low16 = _mm512_set1_epi32(0xffff), low8 = _mm512_set1_epi32(0xff);
  const __m512i first_group = _mm512_set1_epi32(kFirstGroup), zero = _mm512_setzero_si512();
  constexpr __mmask16 kEach = 0xffff;  // GCC 12 takes what the forms without a mask start from for uninitialised
  int i = 0;
  for (; i + 32 <= n; i += 32) {
    __m512i address[2], entry[2];
    __mmask16 in_group[2];
    for (int k = 0; k < 2; ++k) {
      address[k] = _mm512_loadu_si512(addresses + i + 16 * k);
      entry[k] =
          _mm512_mask_i32gather_epi32(zero, kEach, _mm512_maskz_srli_epi32(kEach, address[k], 8), image.tbl24, 2);
    }
    for (int k = 0; k < 2; ++k) {
      entry[k] = _mm512_and_si512(entry[k], low16);
      in_group[k] = _mm512_cmpge_epi32_mask(entry[k], first_group);
    }
    if ((in_group[0] | in_group[1]) != 0)
      for (int k = 0; k < 2; ++k) {
        const __m512i group = _mm512_maskz_slli_epi32(kEach, _mm512_sub_epi32(entry[k], first_group), 8);
        const __m512i at = _mm512_or_si512(group, _mm512_and_si512(address[k], low8));
        entry[k] = _mm512_mask_i32gather_epi32(entry[k], in_group[k], at, image.tbl8, 2);
      }
    for (int k = 0; k < 2; ++k)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(hops + i + 16 * k), _mm512_maskz_cvtepi32_epi16(kEach, entry[k]));
  }
  gather_eights(image, addresses + i, hops + i, n - i);
}
#endif

constexpr DirectForm kAll[] = {
#ifdef HEDDLE_AVX2
    {"gathers, AVX-512", gather_sixteens},
    {"gathers, AVX2", gather_eights},
#endif
    {"gopt", by_gopt},
    {"by hand", by_hand},
    {"prefetched early", one_by_one, true}};

size_t count_unknown() {
#ifdef HEDDLE_AVX2
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) return 2;
  return __builtin_cpu_supports("avx512f") ? 0 : 1;
#else
  return 0;
#endif
}

}  // namespace

std::span<const DirectForm> direct_forms(bool early) {
  static const size_t unknown = count_unknown();
  return std::span(kAll).subspan(unknown, std::size(kAll) - unknown - (early ? 0 : 1));
}

void DirectTable::find_form(std::span<const uint32_t> addresses, bool early) {
  const std::span<const DirectForm> all = direct_forms(early);
  constexpr size_t kBulk = 64;
  const size_t share = addresses.size() / (all.size() * kFastestRounds) / kBulk * kBulk;
  std::array<uint16_t, kBulk> hops;
  size_t at = 0;  // each call has addresses of its own, whose entries no other has brought into the caches
  form_ = &all[fastest(all.size(), [&](size_t form) {
    const auto ask = [&](size_t from) {
      for (size_t i = from; i < from + kBulk; ++i) direct_prefetch(image(), addresses[i]);
    };
    const size_t end = at + share;
    // What the engine does, whose elements between have a batch to go through: here the look-ups of the one before.
    if (all[form].early) ask(at);
    for (; at < end; at += kBulk) {
      if (all[form].early && at + kBulk < end) ask(at + kBulk);
      all[form].look_up(image(), &addresses[at], hops.data(), kBulk);
    }
  })];
}

}  // namespace heddle::ip_lookup
