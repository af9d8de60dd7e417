#pragma once

#include <cstdint>

#include "functions/ipsec/rule.h"
#include "functions/ipsec/suite.h"

namespace heddle::ipsec {

/** What the CPU needs of an association beyond what a GPU does. Numbers are in host byte order unless said
 *  otherwise. */
struct alignas(64) Details {
  // For intel-ipsec-mb. Keys lie in the same kind of memory as this, which is wiped.
  const void* encipher_keys;  ///< expanded for the cipher: round keys, or a gcm_key_data
  const void* decipher_keys;
  const uint32_t *inner, *outer;  ///< states of the hash after the block key ^ ipad, and after key ^ opad (RFC 2104)
  uint32_t nonce;                 ///< as the bytes lie
  Suite suite;
  uint8_t key_bytes;  ///< of AES: 16, 24 or 32
  bool extended;      ///< sequence numbers have 64 bits (RFC 4303, 2.2.1)

  bool transport;                                  ///< mode; else tunnel
  bool ip6;                                        ///< outer addresses
  uint16_t source_port = 0, destination_port = 0;  ///< of UDP around ESP (RFC 3948), network byte order; 0: none
  uint8_t source6[16], destination6[16];

  bool in_udp() const { return destination_port != 0; }
  uint32_t ip_bytes() const { return transport ? 0 : ip6 ? kIp6Bytes : kIp4Bytes; }
  /** What stands between the IP header and what is enciphered. */
  uint32_t middle_bytes() const { return (in_udp() ? 8 : 0) + kEspBytes + suite.iv_bytes(); }
  /** By how much Encap moves the start of a packet. */
  uint32_t front_bytes() const { return ip_bytes() + middle_bytes(); }
  /** Most that Encap puts behind a packet. */
  uint32_t tail_bytes() const { return suite.alignment() - 1 + kTrailerBytes + suite.icv_bytes; }
  /** Bytes that are enciphered for `plain` bytes: these, padding, trailer (RFC 4303, 2.4). */
  uint32_t ciphertext_bytes(uint32_t plain) const {
    return (plain + kTrailerBytes + suite.alignment() - 1) & ~(suite.alignment() - 1);
  }
  /** Whether a GPU can do it. */
  bool fits_gpu() const { return suite.cipher != Cipher::aes_cbc && !extended && !transport && !ip6 && !in_udp(); }
};

}  // namespace heddle::ipsec
