#pragma once

#include <cstdint>

#include "functions/ipsec/rule.h"

/** The headers of IP packets, as far as ESP wants to know them; CPU and GPU. Bytes are those of `packet`, of which
 *  `available` are there. */
namespace heddle::ipsec {

constexpr uint8_t kProtocolUdp = 17;
constexpr uint8_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kDestinationOptions = 60;  // IPv6, RFC 8200

HEDDLE_HD inline uint32_t number16(const uint8_t* at) { return uint32_t{at[0]} << 8 | at[1]; }

/** Where the extension headers of an IPv6 packet lead. */
struct Extensions {
  bool cut = false;                                            ///< they are longer than the packet
  uint32_t bytes = kIp6Bytes;                                  ///< of all headers
  uint32_t next_at = 6, protocol;                              ///< what is behind them
  uint32_t kept = kIp6Bytes, kept_next_at = 6, kept_protocol;  ///< those that stay before ESP (RFC 4303, 3.1.1)
};

/** Of a packet that ends at `end`. */
HEDDLE_HD inline Extensions extensions_of(const uint8_t* packet, uint32_t end) {
  Extensions e;
  e.protocol = e.kept_protocol = packet[6];
  while (e.protocol == kHopByHop || e.protocol == kRouting || e.protocol == kDestinationOptions) {
    if (e.bytes + 8 > end || e.bytes + 8 + 8u * packet[e.bytes + 1] > end) {
      e.cut = true;
      return e;
    }
    const bool stays = e.protocol != kDestinationOptions;
    e.next_at = e.bytes;
    e.protocol = packet[e.bytes];
    e.bytes += 8 + 8u * packet[e.bytes + 1];
    if (stays) e.kept = e.bytes, e.kept_next_at = e.next_at, e.kept_protocol = e.protocol;
  }
  return e;
}

HEDDLE_HD inline bool is_fragment4(const uint8_t* packet) { return (packet[6] & 0x3f) != 0 || packet[7] != 0; }

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

namespace detail {

/** The IP headers: protocol behind them in `protocol`. */
HEDDLE_HD inline Arrived find_payload(const uint8_t* packet, uint32_t available, uint32_t& protocol) {
  Arrived to{kGood};
  to.ip6 = packet[0] >> 4 == 6;
  to.ecn = (to.ip6 ? packet[1] >> 4 : packet[1]) & 3;
  if (to.ip6) {
    if (available < kIp6Bytes) return {kShort};
    to.end = kIp6Bytes + number16(packet + 4);
    if (to.end > available) return {kShort};
    const Extensions e = extensions_of(packet, to.end);
    if (e.cut) return {kShort};
    to.ip_bytes = e.bytes, to.next_at = e.next_at, protocol = e.protocol;
  } else {
    to.ip_bytes = (packet[0] & 15) * 4u;
    if (packet[0] >> 4 != 4 || to.ip_bytes < kIp4Bytes || is_fragment4(packet)) return {kNotEsp};
    protocol = packet[9], to.next_at = 9;
    if (protocol != kProtocolEsp && protocol != kProtocolUdp) return {kNotEsp};
    to.end = number16(packet + 2);
    if (to.end > available || to.end < to.ip_bytes) return {kShort};
  }
  to.esp = to.ip_bytes;
  return to;
}

/** UDP's content, which begins at `esp`, is the ESP packet, unless it is a keep-alive or no ESP packet. */
HEDDLE_HD inline void open_udp(const uint8_t* packet, Arrived& to) {
  const uint32_t bytes = number16(packet + to.esp + 4);
  if (bytes < 8 || to.esp + bytes > to.end) {
    to.reason = kShort;
    return;
  }
  to.end = to.esp + bytes;
  to.esp += 8;
  const uint8_t* const content = packet + to.esp;
  if (to.end == to.esp + 1 && content[0] == 0xff)
    to.reason = kKeepalive;
  else if (to.end >= to.esp + 4 && (content[0] | content[1] | content[2] | content[3]) == 0)
    to.reason = kNotEsp;  // of IKE (RFC 3948, 2.2)
}

}  // namespace detail

/** Of a packet with at least 20 bytes. `takes_port(port)`: whether ESP is expected in UDP to this port, in network byte
 *  order. */
template <class TakesPort>
HEDDLE_HD Arrived arrived_of(const uint8_t* packet, uint32_t available, const TakesPort& takes_port) {
  uint32_t protocol = 0;
  Arrived to = detail::find_payload(packet, available, protocol);
  if (to.reason != kGood) return to;
  if (protocol == kProtocolUdp && !to.ip6) {
    if (to.end < to.esp + kUdpBytes) return {kShort};
    to.port = static_cast<uint16_t>(swapped16(number16(packet + to.esp + 2)));
    if (!takes_port(to.port)) to.reason = kNotEsp;
    if (to.reason == kGood) detail::open_udp(packet, to);
  } else if (protocol != kProtocolEsp) {
    to.reason = kNotEsp;
  }
  if (to.reason == kGood && to.end < to.esp + kEspBytes) to.reason = kShort;
  return to;
}

}  // namespace heddle::ipsec
