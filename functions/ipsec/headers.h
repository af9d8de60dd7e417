#pragma once

#include <cstdint>
#include <cstring>

#include "core/load.h"
#include "functions/ipsec/arrived.h"
#include "functions/ipsec/details.h"

/** IP and UDP headers around ESP, on the CPU. */
namespace heddle::ipsec {

constexpr uint8_t kProtocolNone = 59;

/** What Encap enciphers of a packet. */
struct Plain {
  int reason;            ///< of EncapReason, kGood if it can be protected
  Inner inner{};         ///< next_header: of what is enciphered
  uint32_t kept = 0;     ///< bytes of its IP headers that stay before ESP: 0 in tunnel mode
  uint32_t next_at = 0;  ///< where in these the protocol is said
};

namespace detail {
/** Leaves the headers of the packet in `plain` before ESP. */
void keep_headers(const Association& keys, const Details& sa, const uint8_t* packet, Plain& plain);
void write_outer6(uint8_t* at, const Association& keys, const Details& sa, const Inner& inner, uint32_t bytes);
}  // namespace detail

/** The length of the IP packet that Encap makes of it. */
inline uint32_t protected_bytes(const Details& sa, const Plain& plain) {
  const uint32_t bytes = plain.inner.bytes - plain.kept;
  return plain.kept + sa.front_bytes() + sa.ciphertext_bytes(bytes) + sa.suite.icv_bytes;
}

/** Of a packet of which `available` bytes are there. */
inline Plain plain_of(const Association& keys, const Details& sa, const uint8_t* packet, uint32_t available) {
  constexpr uint32_t kMostBytes = 65535;
  if (available < kIp4Bytes) return {kMalformed};
  Plain plain{kGood, inner_of(load_u32(packet), load_u32(packet + 4), available)};
  if (plain.inner.bytes == 0)
    plain.reason = kMalformed;
  else if (sa.transport)
    detail::keep_headers(keys, sa, packet, plain);
  if (protected_bytes(sa, plain) > kMostBytes) plain.reason = kMalformed;
  return plain;
}

/** Writes the outer header of a tunnel, sa.ip_bytes() long, before `bytes` bytes (UDP, ESP, ICV). */
inline void write_outer(uint8_t* at, const Association& keys, const Details& sa, const Inner& inner, uint32_t sequence,
                        uint32_t bytes) {
  if (sa.ip6) return detail::write_outer6(at, keys, sa, inner, bytes);
  uint32_t words[5];
  outer_header(words, keys, inner, sequence, kIp4Bytes + bytes, sa.in_udp() ? kProtocolUdp : kProtocolEsp);
  std::memcpy(at, words, sizeof words);
}
/** What was an IP packet's header has `bytes` bytes of `protocol` behind it now; `next_at` is where it says so. */
void change_header(uint8_t* header, uint32_t header_bytes, uint32_t next_at, uint32_t protocol, uint32_t bytes);
/** Writes the UDP header before `bytes` bytes of ESP and ICV (RFC 3948, 2.1). */
void write_udp(uint8_t* at, const Details& sa, uint32_t bytes);

}  // namespace heddle::ipsec
