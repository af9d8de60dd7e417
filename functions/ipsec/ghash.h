#pragma once

#include <cstdint>

#include "core/macros.h"

/** GHASH's arithmetic (NIST SP 800-38D, 6.3, 6.4), CPU and GPU, without tables and branches: what is secret decides neither
 *  where memory is read nor how long it takes. A GPU has no carry-less multiplication; sixteen of integers are one of 32 bits. */
namespace heddle::ipsec {

/** Of GF(2^128): a block as a number, byte 0 at the top; the highest bit is the coefficient of x^0. */
struct alignas(16) Polynomial {
  uint64_t high, low;
};

HEDDLE_HD inline Polynomial operator^(const Polynomial& a, const Polynomial& b) {
  return {a.high ^ b.high, a.low ^ b.low};
}

/** The carry-less product. Factors are taken apart into every fourth bit, so that what is carried, of at most eight ones, ends
 *  in the three zeros between (T. Pornin, BearSSL). */
HEDDLE_HD inline uint64_t carryless(uint32_t a, uint32_t b) {
  constexpr uint32_t kBits = 0x11111111;
  constexpr uint64_t kWide = 0x1111111111111111;
  const uint64_t a0 = a & kBits, a1 = a & kBits << 1, a2 = a & kBits << 2, a3 = a & kBits << 3;
  const uint64_t b0 = b & kBits, b1 = b & kBits << 1, b2 = b & kBits << 2, b3 = b & kBits << 3;
  return (((a0 * b0) ^ (a1 * b3) ^ (a2 * b2) ^ (a3 * b1)) & kWide) |
         (((a0 * b1) ^ (a1 * b0) ^ (a2 * b3) ^ (a3 * b2)) & kWide << 1) |
         (((a0 * b2) ^ (a1 * b1) ^ (a2 * b0) ^ (a3 * b3)) & kWide << 2) |
         (((a0 * b3) ^ (a1 * b2) ^ (a2 * b1) ^ (a3 * b0)) & kWide << 3);
}

/** The same of 64 bits, in three of 32 (Karatsuba). */
HEDDLE_HD inline Polynomial carryless_wide(uint64_t a, uint64_t b) {
  const auto a0 = static_cast<uint32_t>(a), a1 = static_cast<uint32_t>(a >> 32);
  const auto b0 = static_cast<uint32_t>(b), b1 = static_cast<uint32_t>(b >> 32);
  const uint64_t low = carryless(a0, b0), high = carryless(a1, b1);
  const uint64_t middle = carryless(a0 ^ a1, b0 ^ b1) ^ low ^ high;
  return {high ^ middle >> 32, low ^ middle << 32};
}

/** a * b, of which the second factor is `by` = b / x: the product of two numbers then stands where it belongs. */
HEDDLE_HD inline Polynomial product(const Polynomial& a, const Polynomial& by) {
  const Polynomial low = carryless_wide(a.low, by.low), high = carryless_wide(a.high, by.high);
  const Polynomial middle = carryless_wide(a.high ^ a.low, by.high ^ by.low) ^ low ^ high;
  uint64_t v3 = high.high, v2 = high.low ^ middle.high, v1 = low.high ^ middle.low;
  const uint64_t v0 = low.low;
  // x^128 = x^7 + x^2 + x + 1: from the lowest word up.
  v2 ^= v0 ^ v0 >> 1 ^ v0 >> 2 ^ v0 >> 7;
  v1 ^= v0 << 63 ^ v0 << 62 ^ v0 << 57;
  v3 ^= v1 ^ v1 >> 1 ^ v1 >> 2 ^ v1 >> 7;
  v2 ^= v1 << 63 ^ v1 << 62 ^ v1 << 57;
  return {v3, v2};
}

/** a / x. */
HEDDLE_HD inline Polynomial divided_by_x(const Polynomial& a) {
  const uint64_t carry = 0 - (a.high >> 63);
  return {(a.high << 1 | a.low >> 63) ^ (carry & 0xc200000000000000), (a.low << 1) ^ (carry & 1)};
}

}  // namespace heddle::ipsec
