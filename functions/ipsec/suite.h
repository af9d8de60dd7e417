#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::ipsec {

enum class Cipher : uint8_t {
  aes_ctr,  ///< RFC 3686
  aes_cbc,  ///< RFC 3602
  aes_gcm,  ///< RFC 4106, which authenticates as well
};

enum class Hash : uint8_t {
  none,
  hmac_sha1_96,     ///< RFC 2404
  hmac_sha256_128,  ///< RFC 4868
};

/** What protects the packets of an association. */
struct Suite {
  Cipher cipher = Cipher::aes_ctr;
  Hash hash = Hash::hmac_sha1_96;
  uint8_t icv_bytes = 12;

  HEDDLE_HD uint32_t iv_bytes() const { return cipher == Cipher::aes_cbc ? 16 : 8; }
  /** What the bytes that are enciphered are a multiple of, a power of two. */
  HEDDLE_HD uint32_t alignment() const { return cipher == Cipher::aes_cbc ? 16 : 4; }
  bool operator==(const Suite&) const = default;
};

}  // namespace heddle::ipsec
