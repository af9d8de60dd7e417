#pragma once

#include <array>
#include <random>

#include "tests/support/frames.h"

/** Packets for the filters' tests; they begin with their IPv4 header. */
namespace heddle::test {

inline unsigned get_u16(const Bytes& bytes, size_t at) { return bytes[at] * 256u + bytes[at + 1]; }

/** An IPv4 packet; few different values, so that patterns match often. */
inline Bytes random_packet(std::mt19937& random) {
  const size_t words = random() % 4 == 0 ? 5 + random() % 4 : 5;
  Bytes packet(words * 4 + random() % 24);
  for (auto& byte : packet) byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : random() % 4);
  packet[0] = static_cast<uint8_t>(0x40 | words);
  static constexpr uint8_t kProtocols[] = {1, 6, 6, 17, 17, 47};
  packet[9] = kProtocols[random() % 6];
  put_u16(packet, 6, random() % 4 == 0 ? std::array{0x2000u, 0x0005u, 0x4000u, 0x2003u}[random() % 4] : 0);
  for (const size_t at : {12, 16}) put_u32(packet, at, ip(10, random() % 2, 0, random() % 4));
  const size_t l4 = words * 4;
  for (const size_t at : {l4, l4 + 2})
    if (at + 2 <= packet.size()) put_u16(packet, at, std::array{80u, 443u, 53u, 1024u, 5000u}[random() % 5]);
  if (packet[9] == 1 && packet.size() > l4) packet[l4] = std::array<uint8_t, 4>{0, 3, 8, 11}[random() % 4];
  return packet;
}

inline size_t transport_of(const Bytes& p) { return (p[0] & 15u) * 4; }
inline bool first(const Bytes& p) { return (get_u16(p, 6) & 0x1fff) == 0; }
inline bool has(const Bytes& p, size_t bytes) { return transport_of(p) + bytes <= p.size(); }

}  // namespace heddle::test
