#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::gpu {

/** CityHash32 (Pike, Alakuijala, Google, 2011; version 1.1) of the four bytes of `x`, least significant first. */
HEDDLE_HD constexpr uint32_t city_hash32(uint32_t x) {
  constexpr uint32_t kFirst = 0xcc9e2d51, kSecond = 0x1b873593;
  const auto rotated = [](uint32_t v, int by) { return v >> by | v << (32 - by); };
  const auto combined = [&](uint32_t v, uint32_t hash) {
    hash ^= rotated(v * kFirst, 17) * kSecond;
    return rotated(hash, 19) * 5 + 0xe6546b64;
  };
  uint32_t b = 0, c = 9;
  for (int i = 0; i < 4; ++i) {
    b = b * kFirst + static_cast<uint32_t>(static_cast<int8_t>(x >> (8 * i)));  // bytes count as signed
    c ^= b;
  }
  uint32_t hash = combined(b, combined(4, c));
  hash = (hash ^ hash >> 16) * 0x85ebca6b;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35;
  return hash ^ hash >> 16;
}

/** What is done to each 32-bit element of an array, on CPU and GPU, in the experiments of G-Opt (Kalia et al., NSDI
 *  2015, section 2): negligible computation (2.4), a chain of `depth` random accesses (2.5), or `depth` hashes
 *  (2.6.2). */
struct Work {
  enum Kind : uint8_t { kIncrement, kAccess, kHash } kind = kIncrement;
  int depth = 1;
};

/** `table`: [2^n] a permutation of its indices, for kAccess; `x` is an index. */
HEDDLE_HD inline uint32_t worked(Work work, const uint32_t* table, uint32_t x) {
  if (work.kind == Work::kIncrement) return x + 1;
  if (work.kind == Work::kAccess)
    for (int d = 0; d < work.depth; ++d) x = table[x];
  else
    for (int d = 0; d < work.depth; ++d) x = city_hash32(x);
  return x;
}

}  // namespace heddle::gpu
