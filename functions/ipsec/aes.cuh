#pragma once

#include "functions/ipsec/rule.h"

namespace heddle::ipsec {

/** Shared memory that AES looks up. */
struct Lookup {
  uint32_t words[256];  // Image::te
};

/** Where a round takes its bytes from. */
__device__ inline uint32_t looked_up(const Lookup& te, uint32_t word, int byte) {
  return te.words[word >> 8 * byte & 255];
}

/** A round but the last (FIPS 197, 5.1) by table look-ups. */
__device__ inline void aes_round(const Lookup& te, const uint4& key, uint32_t (&s)[4]) {
  uint32_t to[4] = {key.x, key.y, key.z, key.w};
#pragma unroll
  for (int j = 0; j < 4; ++j)
    to[j] ^= looked_up(te, s[j], 0) ^ __byte_perm(looked_up(te, s[(j + 1) & 3], 1), 0, 0x2103) ^
             __byte_perm(looked_up(te, s[(j + 2) & 3], 2), 0, 0x1032) ^
             __byte_perm(looked_up(te, s[(j + 3) & 3], 3), 0, 0x0321);
#pragma unroll
  for (int j = 0; j < 4; ++j) s[j] = to[j];
}

/** AES of the four words of a block, as they lie. */
__device__ inline void aes(const Lookup& te, const Association& sa, uint32_t (&s)[4]) {
  const auto* keys = reinterpret_cast<const uint4*>(sa.round_keys);
  uint4 key = keys[0];
  s[0] ^= key.x, s[1] ^= key.y, s[2] ^= key.z, s[3] ^= key.w;
#pragma unroll
  for (int round = 1; round < 10; ++round) aes_round(te, keys[round], s);
  const uint32_t rounds = sa.rounds;
#pragma unroll 1
  for (uint32_t round = 10; round < rounds; ++round) aes_round(te, keys[round], s);
  key = keys[rounds];
  uint32_t to[4] = {key.x, key.y, key.z, key.w};
#pragma unroll
  for (int j = 0; j < 4; ++j)  // byte 1 of an entry is the S-box's
    to[j] ^=
        __byte_perm(__byte_perm(looked_up(te, s[j], 0), looked_up(te, s[(j + 1) & 3], 1), 0x0051),
                    __byte_perm(looked_up(te, s[(j + 2) & 3], 2), looked_up(te, s[(j + 3) & 3], 3), 0x0051), 0x5410);
#pragma unroll
  for (int j = 0; j < 4; ++j) s[j] = to[j];
}

/** `out`: the four words that begin `skip` bytes (0..16) into the eight of `one` and `other`. */
__device__ inline void shifted(const uint32_t (&one)[4], const uint32_t (&other)[4], uint32_t skip,
                               uint32_t (&out)[4]) {
  uint32_t x[9] = {one[0], one[1], one[2], one[3], other[0], other[1], other[2], other[3], 0};
#pragma unroll
  for (uint32_t step = 4; step > 0; step /= 2) {
    const bool go = (skip / 4 & step) != 0;
#pragma unroll
    for (uint32_t w = 0; w + step < 9; ++w) x[w] = go ? x[w + step] : x[w];
  }
#pragma unroll
  for (int w = 0; w < 4; ++w) out[w] = __funnelshift_r(x[w], x[w + 1], skip % 4 * 8);
}

}  // namespace heddle::ipsec
