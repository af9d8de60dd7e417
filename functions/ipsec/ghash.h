#pragma once

#include <cstdint>

#include "core/macros.h"

/** GHASH's arithmetic (NIST SP 800-38D, 6.3, 6.4), CPU and GPU, without tables and branches: what is secret decides
 *  neither where memory is read nor how long it takes. A GPU has no carry-less multiplication; sixteen of integers are
 *  one of 32 bits. */
namespace heddle::ipsec {

/** Of GF(2^128): a block as a number, byte 0 at the top; the highest bit is the coefficient of x^0. */
struct alignas(16) Polynomial {
  uint64_t high, low;
};

HEDDLE_HD inline Polynomial operator^(const Polynomial& a, const Polynomial& b) {
  return {a.high ^ b.high, a.low ^ b.low};
}

/** The carry-less product. Factors are taken apart into every fourth bit, so that what is carried, of at most eight
 *  ones, ends in the three zeros between (T. Pornin, BearSSL). A loop, for a GPU would have no registers for all of it
 *  at once. */
HEDDLE_HD inline uint64_t carryless(uint32_t a, uint32_t b) {
  constexpr uint32_t kBits = 0x11111111;
  const uint64_t a0 = a & kBits, a1 = a & kBits << 1, a2 = a & kBits << 2, a3 = a & kBits << 3;
  uint32_t b0 = b & kBits, b1 = b & kBits << 1, b2 = b & kBits << 2, b3 = b & kBits << 3;
  uint64_t sum = 0, bits = 0x1111111111111111;
#ifdef __CUDACC__
#pragma unroll 1
#endif
  for (int bit = 0; bit < 4; ++bit, bits <<= 1) {
    sum |= ((a0 * b0) ^ (a1 * b3) ^ (a2 * b2) ^ (a3 * b1)) & bits;
    const uint32_t first = b0;
    b0 = b1, b1 = b2, b2 = b3, b3 = first;
  }
  return sum;
}

/** The same of 64 bits, in three of 32 (Karatsuba). */
HEDDLE_HD inline Polynomial carryless_wide(uint64_t a, uint64_t b) {
  const auto a0 = static_cast<uint32_t>(a), a1 = static_cast<uint32_t>(a >> 32);
  const auto b0 = static_cast<uint32_t>(b), b1 = static_cast<uint32_t>(b >> 32);
  const uint64_t low = carryless(a0, b0), high = carryless(a1, b1);
  const uint64_t middle = carryless(a0 ^ a1, b0 ^ b1) ^ low ^ high;
  return {high ^ middle >> 32, low ^ middle << 32};
}

/** What of a product is not reduced yet, the lowest word first. On a GPU in shared memory, for its registers are full;
 *  hence also the factor there, and `volatile`, so that both stay there. */
struct Product {
  uint64_t words[4];
};

/** a * b, of which the second factor is `by` = b / x: the product of two numbers then stands where it belongs. */
HEDDLE_HD inline Polynomial product(const volatile Polynomial& a, const Polynomial& by, volatile Product& p) {
  for (int w = 0; w < 4; ++w) p.words[w] = 0;
#ifdef __CUDACC__
#pragma unroll 1
#endif
  for (int part = 0; part < 3; ++part) {  // Karatsuba: low, high, middle
    uint64_t one = part == 1 ? a.high : a.low, other = part == 1 ? by.high : by.low;
    if (part == 2) one ^= a.high, other ^= by.high;
    const Polynomial of = carryless_wide(one, other);
    p.words[1] = p.words[1] ^ of.low;
    p.words[2] = p.words[2] ^ of.high;
    if (part == 0) {
      p.words[0] = of.low;
      p.words[1] = p.words[1] ^ of.high;
    } else if (part == 1) {
      p.words[2] = p.words[2] ^ of.low;
      p.words[3] = of.high;
    }
  }
  // x^128 = x^7 + x^2 + x + 1: from the lowest word up.
  const uint64_t v0 = p.words[0];
  const uint64_t v1 = p.words[1] ^ v0 << 63 ^ v0 << 62 ^ v0 << 57;
  const uint64_t v2 = p.words[2] ^ v0 ^ v0 >> 1 ^ v0 >> 2 ^ v0 >> 7 ^ v1 << 63 ^ v1 << 62 ^ v1 << 57;
  return {p.words[3] ^ v1 ^ v1 >> 1 ^ v1 >> 2 ^ v1 >> 7, v2};
}
HEDDLE_HD inline Polynomial product(const Polynomial& a, const Polynomial& by) {
  Product p;
  return product(a, by, p);
}

/** a / x. */
HEDDLE_HD inline Polynomial divided_by_x(const Polynomial& a) {
  const uint64_t carry = 0 - (a.high >> 63);
  return {(a.high << 1 | a.low >> 63) ^ (carry & 0xc200000000000000), (a.low << 1) ^ (carry & 1)};
}

}  // namespace heddle::ipsec
