#pragma once

#include <cstdint>

#include "functions/ipsec/suite.h"

namespace heddle::ipsec {

/** An association as intel-ipsec-mb wants it, which does the work of the CPU. Keys lie in the same kind of memory as
 *  this, which is wiped. */
struct alignas(64) Details {
  const void* encipher_keys;  ///< expanded for the cipher: round keys, or a gcm_key_data
  const void* decipher_keys;
  const uint32_t *inner, *outer;  ///< states of the hash after the block key ^ ipad, and after key ^ opad (RFC 2104)
  uint32_t nonce;                 ///< as the bytes lie
  Suite suite;
  uint8_t key_bytes;  ///< of AES: 16, 24 or 32
  bool extended;      ///< sequence numbers have 64 bits (RFC 4303, 2.2.1)
};

}  // namespace heddle::ipsec
