#pragma once

#include "elements/ip/header.h"

namespace heddle {

constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17;

/** The checksum field of the TCP or UDP segment behind a header, or null: another protocol, a later fragment, too
 *  short, or UDP without checksum. */
inline uint8_t* transport_checksum_field(const Ip4Header& ip) {
  if (!ip.first_fragment()) return nullptr;
  if (ip.at[9] == kTcp && ip.payload() >= 18) return ip.behind() + 16;
  if (ip.at[9] == kUdp && ip.payload() >= 8 && load_u16(ip.behind() + 6) != 0) return ip.behind() + 6;
  return nullptr;
}

/** UDP sends a checksum of 0 as 0xffff (RFC 768). */
inline void keep_udp_checksum(const Ip4Header& ip, uint8_t* field) {
  if (ip.at[9] == kUdp && load_u16(field) == 0) store_u16(field, 0xffff);
}

/** The words of an ICMP message that is all zeros (an echo reply may be) add up to 0, not to 0xffff as others do, so
 *  that an update cannot tell its checksum: it is 0xffff. */
inline void keep_icmp_checksum(const Ip4Header& ip) {
  uint8_t* icmp = ip.behind();
  if (load_u16(icmp + 2) == 0 && std::all_of(icmp, icmp + ip.payload(), [](uint8_t byte) { return byte == 0; }))
    store_u16(icmp + 2, 0xffff);
}

/** Gives an address of the header a value, in network byte order; corrects the checksums that cover it. */
inline void rewrite_address(const Ip4Header& ip, uint8_t* field, uint32_t address) {
  if (uint8_t* checksum = transport_checksum_field(ip)) {
    store_u16(checksum, updated_checksum(load_u16(checksum), load_u32(field), address));
    keep_udp_checksum(ip, checksum);
  }
  rewrite_u32(field, address, ip.at + 10);
}

/** Gives a port, in network byte order, of the TCP or UDP header at `ip.behind()` a value; corrects the checksum. */
inline void rewrite_port(const Ip4Header& ip, uint8_t* field, uint16_t port) {
  if (uint8_t* checksum = transport_checksum_field(ip)) {
    store_u16(checksum, updated_checksum(load_u16(checksum), load_u16(field), port));
    keep_udp_checksum(ip, checksum);
  }
  store_u16(field, port);
}

}  // namespace heddle
