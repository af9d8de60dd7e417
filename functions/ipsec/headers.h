#pragma once

#include <cstdint>
#include <cstring>

#include "core/load.h"
#include "functions/ipsec/details.h"

/** IP and UDP headers around ESP, on the CPU. */
namespace heddle::ipsec {

constexpr uint8_t kProtocolUdp = 17, kProtocolNone = 59;

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

/** Of a packet of which `available` bytes are there. */
inline Plain plain_of(const Association& keys, const Details& sa, const uint8_t* packet, uint32_t available) {
  constexpr uint32_t kMostBytes = 65535;
  if (available < kIp4Bytes) return {kMalformed};
  Plain plain{kGood, inner_of(load_u32(packet), load_u32(packet + 4), available)};
  if (plain.inner.bytes == 0)
    plain.reason = kMalformed;
  else if (sa.transport)
    detail::keep_headers(keys, sa, packet, plain);
  const uint32_t bytes = plain.inner.bytes - plain.kept;
  if (plain.kept + sa.front_bytes() + sa.ciphertext_bytes(bytes) + sa.suite.icv_bytes > kMostBytes)
    plain.reason = kMalformed;
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
/** The ECN bits of a packet that leaves a tunnel (RFC 6040, 4.2), or -1: it must be dropped, for it has been marked on the way,
 *  and nobody behind would see that. */
int ecn_behind_tunnel(uint32_t inner, uint32_t outer);
/** Writes them into the header of an IP packet. */
void set_ecn(uint8_t* header, uint32_t ecn);
/** Writes the UDP header before `bytes` bytes of ESP and ICV (RFC 3948, 2.1). */
void write_udp(uint8_t* at, const Details& sa, uint32_t bytes);

/** An ESP packet from outside. */
struct Arrived {
  int reason;  ///< of DecapReason, kGood if an ESP header is there
  bool ip6 = false;
  uint8_t ecn = 0;        ///< of the IP header
  uint16_t port = 0;      ///< of UDP around it, network byte order; 0: none
  uint32_t ip_bytes = 0;  ///< headers of IP
  uint32_t next_at = 0;   ///< where in these the protocol is said
  uint32_t esp = 0;       ///< where ESP begins
  uint32_t end = 0;       ///< of the packet by its headers
};

/** Of a packet of which `available` bytes, at least 20, are there. `takes_port(port)`: whether ESP is expected in UDP to
 *  this port, in network byte order. */
template <class TakesPort>
Arrived arrived_of(const uint8_t* packet, uint32_t available, const TakesPort& takes_port);

namespace detail {
/** The IP headers: protocol behind them in `protocol`. */
Arrived find_payload(const uint8_t* packet, uint32_t available, uint32_t& protocol);
/** UDP's content, which begins at `esp`, is the ESP packet, unless it is a keep-alive or no ESP packet. */
void open_udp(const uint8_t* packet, Arrived& to);
}  // namespace detail

template <class TakesPort>
Arrived arrived_of(const uint8_t* packet, uint32_t available, const TakesPort& takes_port) {
  uint32_t protocol;
  Arrived to = detail::find_payload(packet, available, protocol);
  if (to.reason != kGood) return to;
  if (protocol == kProtocolUdp && !to.ip6 && to.end >= to.esp + 8) {
    std::memcpy(&to.port, packet + to.esp + 2, sizeof to.port);
    if (!takes_port(to.port)) to.reason = kNotEsp;
    if (to.reason == kGood) detail::open_udp(packet, to);
  } else if (protocol != kProtocolEsp) {
    to.reason = kNotEsp;
  }
  if (to.reason == kGood && to.end < to.esp + kEspBytes) to.reason = kShort;
  return to;
}

}  // namespace heddle::ipsec
