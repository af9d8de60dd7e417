#pragma once

// AES on a GPU, by look-ups in shared memory.

#include "functions/ipsec/rule.h"
#include "gpu/block.cuh"

namespace heddle::ipsec {

struct Lookup {
  uint32_t words[256];  // Image::te
  __device__ void fill(const gpu::Block& block, const Image& image) {
    for (int i = block.thread; i < 256; i += block.threads) words[i] = image.te[i];
  }
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
  // Keys of 192 and 256 bits have two and four rounds more.
  keys += 10;
  if (sa.rounds > 10) aes_round(te, keys[0], s), aes_round(te, keys[1], s), keys += 2;
  if (sa.rounds > 12) aes_round(te, keys[0], s), aes_round(te, keys[1], s), keys += 2;
  key = *keys;
  uint32_t to[4] = {key.x, key.y, key.z, key.w};
#pragma unroll
  for (int j = 0; j < 4; ++j)  // byte 1 of an entry is the S-box's
    to[j] ^=
        __byte_perm(__byte_perm(looked_up(te, s[j], 0), looked_up(te, s[(j + 1) & 3], 1), 0x0051),
                    __byte_perm(looked_up(te, s[(j + 2) & 3], 2), looked_up(te, s[(j + 3) & 3], 3), 0x0051), 0x5410);
#pragma unroll
  for (int j = 0; j < 4; ++j) s[j] = to[j];
}

}  // namespace heddle::ipsec
