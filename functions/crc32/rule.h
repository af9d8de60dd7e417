#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::crc32 {

/** Bit order of the CRC-32 with generator 0x04c11db7 and 32 ones at the start. */
enum class Variant : uint32_t {
  ieee,   ///< IEEE 802.3, 3.2.9: least significant bit first, complemented, least significant byte first (as zlib's)
  click,  ///< Click's update_crc(0xffffffff, ...): most significant bit first, not complemented, in this machine's byte
          ///< order
};

constexpr uint32_t kBytes = 4;
enum Reason : int { kShort, kBadCrc };

// Polynomials over GF(2) modulo the generator, in reflected form: bit 31 is the coefficient of x^0.
constexpr uint32_t kGenerator = 0xedb88320, kOne = 0x80000000;

/** a * b. */
HEDDLE_HD constexpr uint32_t multiplied(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if (b & bit) product ^= a;
    a = a >> 1 ^ (a & 1 ? kGenerator : 0);
  }
  return product;
}

/** How the GPU cuts a packet: lines of 128 aligned bytes, each read by eight threads at once, 16 bytes each. */
constexpr int kPiece = 16, kLanes = 8, kLine = kPiece * kLanes;

/** What the GPU works with. A thread's remainder is always as of the place where its next piece begins, a line on, so
 *  that adding a piece and moving on is one look-up a byte. */
struct Tables {
  Variant variant;
  uint32_t second_output;        ///< CheckCRC32: 1 = bad packets leave by output 1
  uint32_t piece[kPiece][256];   ///< [k][b]: byte b, k-th of its piece, a line and the rest of the piece on
  uint32_t further[3][4][256];   ///< [e][k][b]: byte k of a remainder, 16 * 2^e bytes on
  uint32_t back[kLine];          ///< [n]: x^-8(n + 112): from the last thread's place to n bytes before the line's end
  uint32_t low[256], high[256];  ///< x^8n and x^(8 * 256 n): 32 ones, shifted by a packet's length
};

/** The CRC of a packet from the remainder that its bytes alone leave, starting from 0. */
HEDDLE_HD inline uint32_t finished(uint32_t remainder, uint32_t length, const Tables& tables) {
  const uint32_t on = multiplied(tables.low[length & 255], tables.high[length >> 8]);
  return remainder ^ multiplied(~0u, on);
}

}  // namespace heddle::crc32
