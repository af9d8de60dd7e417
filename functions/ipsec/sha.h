#pragma once

#include <cstdint>

#include "core/macros.h"

/** The hashes of HMAC a block at a time, CPU and GPU. `state` and `words` are numbers; `words` is used up. */
namespace heddle::ipsec {

HEDDLE_HD inline uint32_t rotated(uint32_t x, int n) { return x << n | x >> (32 - n); }

/** SHA-1 (FIPS 180-4, 6.1.2): five words of `state`. */
HEDDLE_HD inline void sha1_block(uint32_t (&state)[8], uint32_t (&words)[16]) {
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int i = 0; i < 80; ++i) {
    if (i >= 16)
      words[i & 15] = rotated(words[(i + 13) & 15] ^ words[(i + 8) & 15] ^ words[(i + 2) & 15] ^ words[i & 15], 1);
    const uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
    const uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
    const uint32_t next = rotated(a, 5) + (f + (e + k + words[i & 15]));
    e = d, d = c, c = rotated(b, 30), b = a, a = next;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

/** SHA-256 (FIPS 180-4, 6.2.2). */
HEDDLE_HD inline void sha256_block(uint32_t (&state)[8], uint32_t (&words)[16]) {
  constexpr uint32_t kConstants[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int i = 0; i < 64; ++i) {
    if (i >= 16) {
      const uint32_t x = words[(i + 1) & 15], y = words[(i + 14) & 15];
      words[i & 15] += (rotated(x, 25) ^ rotated(x, 14) ^ x >> 3) + words[(i + 9) & 15] +
                       (rotated(y, 15) ^ rotated(y, 13) ^ y >> 10);
    }
    const uint32_t one =
        h + (rotated(e, 26) ^ rotated(e, 21) ^ rotated(e, 7)) + ((e & f) ^ (~e & g)) + kConstants[i] + words[i & 15];
    const uint32_t two = (rotated(a, 30) ^ rotated(a, 19) ^ rotated(a, 10)) + ((a & b) | (a & c) | (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

}  // namespace heddle::ipsec
