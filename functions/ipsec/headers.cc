#include "functions/ipsec/headers.h"

#include <cstring>

#include "core/checksum.h"
#include "core/load.h"

namespace heddle::ipsec {
namespace {

constexpr uint32_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kDestinationOptions = 60;

/** Where the extension headers of an IPv6 packet lead. */
struct Extensions {
  bool cut = false;                                            // they are longer than the packet
  uint32_t bytes = kIp6Bytes;                                  // of all headers
  uint32_t next_at = 6, protocol;                              // what is behind them
  uint32_t kept = kIp6Bytes, kept_next_at = 6, kept_protocol;  // those that stay before ESP (RFC 4303, 3.1.1)
};

Extensions extensions_of(const uint8_t* packet, uint32_t end) {
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

bool is_fragment4(const uint8_t* packet) { return (packet[6] & 0x3f) != 0 || packet[7] != 0; }

/** Whether a packet goes to the association's other end. */
bool goes_to(const Association& keys, const Details& sa, const uint8_t* packet) {
  if ((packet[0] >> 4 == 6) != sa.ip6) return false;
  return sa.ip6 ? std::memcmp(packet + 24, sa.destination6, 16) == 0 : load_u32(packet + 16) == keys.destination;
}

}  // namespace

void detail::keep_headers(const Association& keys, const Details& sa, const uint8_t* packet, Plain& plain) {
  if (!goes_to(keys, sa, packet)) {
    plain.reason = kNoSa;
  } else if (!sa.ip6) {
    plain.kept = (packet[0] & 15) * 4u;
    plain.next_at = 9;
    plain.inner.next_header = packet[9];
    if (is_fragment4(packet)) plain.reason = kFragment;
  } else {
    const Extensions e = extensions_of(packet, plain.inner.bytes);
    plain.kept = e.kept, plain.next_at = e.kept_next_at, plain.inner.next_header = e.kept_protocol;
    if (e.cut || e.protocol == kFragmentHeader) plain.reason = e.cut ? kMalformed : kFragment;
  }
}

void detail::write_outer6(uint8_t* at, const Association& keys, const Details& sa, const Inner& inner, uint32_t bytes) {
  constexpr uint32_t kHopLimit = 64;
  store_u32(at, swapped(6u << 28 | outer_tos(keys, inner) << 20));
  store_u32(at + 4, swapped(bytes << 16 | uint32_t{kProtocolEsp} << 8 | kHopLimit));
  std::memcpy(at + 8, sa.source6, 16);
  std::memcpy(at + 24, sa.destination6, 16);
}

void change_header(uint8_t* header, uint32_t header_bytes, uint32_t next_at, uint32_t protocol, uint32_t bytes) {
  header[next_at] = static_cast<uint8_t>(protocol);
  if (header[0] >> 4 == 6) {
    store_u16(header + 4, static_cast<uint16_t>(swapped16(header_bytes - kIp6Bytes + bytes)));
    return;
  }
  store_u16(header + 2, static_cast<uint16_t>(swapped16(header_bytes + bytes)));
  store_u16(header + 10, 0);
  store_u16(header + 10, ip4_checksum(header, header_bytes));
}

int ecn_behind_tunnel(uint32_t inner, uint32_t outer) {
  constexpr uint32_t kNone = 0, kEct1 = 1, kEct0 = 2, kCe = 3;
  if (outer == kCe) return inner == kNone ? -1 : static_cast<int>(kCe);
  return static_cast<int>(inner == kEct0 && outer == kEct1 ? kEct1 : inner);
}

void set_ecn(uint8_t* header, uint32_t ecn) {
  if (header[0] >> 4 == 6) {
    header[1] = static_cast<uint8_t>((header[1] & 0xcf) | ecn << 4);
    return;
  }
  const uint32_t before = load_u16(header);
  header[1] = static_cast<uint8_t>((header[1] & 0xfc) | ecn);
  // RFC 1624, equation 3
  uint32_t sum = (~load_u16(header + 10) & 0xffffu) + (~before & 0xffffu) + load_u16(header);
  sum = (sum >> 16) + (sum & 0xffff);
  sum += sum >> 16;
  store_u16(header + 10, static_cast<uint16_t>(~sum));
}

void write_udp(uint8_t* at, const Details& sa, uint32_t bytes) {
  store_u16(at, sa.source_port);
  store_u16(at + 2, sa.destination_port);
  store_u32(at + 4, swapped16(8 + bytes));  // no checksum
}

Arrived detail::find_payload(const uint8_t* packet, uint32_t available, uint32_t& protocol) {
  Arrived to{kGood};
  to.ip6 = packet[0] >> 4 == 6;
  to.ecn = (to.ip6 ? packet[1] >> 4 : packet[1]) & 3;
  if (to.ip6) {
    if (available < kIp6Bytes) return {kShort};
    to.end = kIp6Bytes + swapped16(load_u16(packet + 4));
    if (to.end > available) return {kShort};
    const Extensions e = extensions_of(packet, to.end);
    if (e.cut) return {kShort};
    to.ip_bytes = e.bytes, to.next_at = e.next_at, protocol = e.protocol;
  } else {
    to.ip_bytes = (packet[0] & 15) * 4u;
    if (packet[0] >> 4 != 4 || to.ip_bytes < kIp4Bytes || is_fragment4(packet)) return {kNotEsp};
    protocol = packet[9], to.next_at = 9;
    if (protocol != kProtocolEsp && protocol != kProtocolUdp) return {kNotEsp};
    to.end = swapped16(load_u16(packet + 2));
    if (to.end > available || to.end < to.ip_bytes) return {kShort};
  }
  to.esp = to.ip_bytes;
  return to;
}

void detail::open_udp(const uint8_t* packet, Arrived& to) {
  const uint32_t bytes = swapped16(load_u16(packet + to.esp + 4));
  if (bytes < 8 || to.esp + bytes > to.end) {
    to.reason = kShort;
    return;
  }
  to.end = to.esp + bytes;
  to.esp += 8;
  if (to.end == to.esp + 1 && packet[to.esp] == 0xff)
    to.reason = kKeepalive;
  else if (to.end >= to.esp + 4 && load_u32(packet + to.esp) == 0)
    to.reason = kNotEsp;  // of IKE (RFC 3948, 2.2)
}

}  // namespace heddle::ipsec
