#include "functions/crc32/tables.h"

namespace heddle::crc32 {
namespace {

/** x^8n; n may be negative. */
uint32_t x_to_bytes(int n) {
  uint32_t power = kOne;
  for (int bit = 0; bit < 8 * n; ++bit) power = power >> 1 ^ (power & 1 ? kGenerator : 0);
  // Times x backwards: the generator has the terms x^0 and x^32, so the bit that leaves says whether it was added.
  for (int bit = 0; bit > 8 * n; --bit) power = power & kOne ? (power ^ kGenerator) << 1 | 1 : power << 1;
  return power;
}

}  // namespace

Tables make_tables(Variant variant, bool second_output) {
  Tables tables{};
  tables.variant = variant;
  tables.second_output = second_output;
  // A byte in the low end of a remainder is eight powers below its place in the data.
  for (int k = 0; k < kPiece; ++k) {
    const uint32_t on = x_to_bytes(kLine - k);
    for (uint32_t b = 0; b < 256; ++b) tables.piece[k][b] = multiplied(b, on);
  }
  for (int e = 0; e < 3; ++e) {
    const uint32_t on = x_to_bytes(kPiece << e);
    for (int k = 0; k < 4; ++k)
      for (uint32_t b = 0; b < 256; ++b) tables.further[e][k][b] = multiplied(b << 8 * k, on);
  }
  for (int n = 0; n < kLine; ++n) tables.back[n] = x_to_bytes(-(n + kLine - kPiece));
  for (int n = 0; n < 256; ++n) tables.low[n] = x_to_bytes(n);
  const uint32_t far = x_to_bytes(256);
  tables.high[0] = kOne;
  for (int n = 1; n < 256; ++n) tables.high[n] = multiplied(tables.high[n - 1], far);
  return tables;
}

}  // namespace heddle::crc32
