#pragma once

#include <intel-ipsec-mb.h>

#include <array>
#include <cstdint>
#include <span>

#include "functions/ipsec/rule.h"

namespace heddle::ipsec {

/** S-box of AES (FIPS 197, 5.1.1), from its definition: the inverse in GF(2^8), then an affine map. */
constexpr std::array<uint8_t, 256> make_sbox() {
  std::array<uint8_t, 256> sbox{};
  uint8_t p = 1, q = 1;  // q = 1 / p, through all powers of the generator 3
  const auto left = [](uint8_t x, int n) { return static_cast<uint8_t>(x << n | x >> (8 - n)); };
  do {
    p = static_cast<uint8_t>(p ^ p << 1 ^ (p & 0x80 ? 0x1b : 0));
    q = static_cast<uint8_t>(q ^ q << 1);
    q = static_cast<uint8_t>(q ^ q << 2);
    q = static_cast<uint8_t>(q ^ q << 4);
    if (q & 0x80) q ^= 0x09;
    sbox[p] = static_cast<uint8_t>(q ^ left(q, 1) ^ left(q, 2) ^ left(q, 3) ^ left(q, 4) ^ 0x63);
  } while (p != 1);
  sbox[0] = 0x63;
  return sbox;
}

/** Fills in Image::te. */
void make_lookup(uint32_t (&te)[256]);
/** Fills in the round keys of an AES key of 16, 24 or 32 bytes, the first of which they are. */
void expand_key(std::span<const uint8_t> key, Association& sa);
/** Fills in the states of HMAC-SHA1 with a key of at most 64 bytes. */
void start_hmac(std::span<const uint8_t> key, Association& sa);
/** The states of HMAC-SHA-256 with a key of at most 64 bytes, after the block key ^ ipad, and after key ^ opad. */
void start_hmac_sha256(std::span<const uint8_t> key, uint32_t (&inner)[8], uint32_t (&outer)[8]);
/** What deciphering in CBC mode needs, 4 * (rounds + 1) words. */
void invert_key(const Association& sa, uint32_t (&words)[60]);
/** Fills in the powers of GHASH's key, from the round keys. */
void start_ghash(Association& sa);
/** What GCM needs on the CPU; `data` is aligned to 64 bytes, which its type does not say. */
void start_gcm(const Association& sa, gcm_key_data& data);

}  // namespace heddle::ipsec
