#pragma once

// What the oracle sees of a packet, and addresses as rules name them, in the plainest words: an address is a string of
// 4 or 16 bytes.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/frames.h"

namespace heddle::nids {

/** Whether the first bits of both are the same; they are addresses of one version. */
inline bool same_bits(const std::string& one, const std::string& other, int bits) {
  if (one.size() != other.size()) return false;
  for (int bit = 0; bit < bits; ++bit) {
    const auto byte = static_cast<size_t>(bit) / 8;
    if (((one[byte] ^ other[byte]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

/** As a rule names them. For each version: in some prefix that is wanted, or anywhere if none of this version is, but
 *  some is unwanted, and in none that is not. Without items: any. */
struct OracleAddresses {
  struct Item {
    std::string address;
    int bits;
    bool negated = false;

    std::string text() const {
      std::string result = negated ? "!" : "";
      char part[8];
      for (size_t at = 0; at < address.size(); at += address.size() == 4 ? 1 : 2) {
        const unsigned high = static_cast<uint8_t>(address[at]);
        if (address.size() == 4)
          std::snprintf(part, sizeof part, "%s%u", at > 0 ? "." : "", high);
        else
          std::snprintf(part, sizeof part, "%s%x", at > 0 ? ":" : "",
                        high << 8 | static_cast<uint8_t>(address[at + 1]));
        result += part;
      }
      return result + "/" + std::to_string(bits);
    }
  };
  std::vector<Item> items;

  std::string text() const {
    std::string list;
    for (const Item& item : items) list += (list.empty() ? "" : ",") + item.text();
    return items.empty() ? "any" : items.size() == 1 ? list : "[" + list + "]";
  }
  bool has(const std::string& address) const {
    bool wanted = false, some = false, named = items.empty();
    for (const Item& item : items) {
      if (item.address.size() != address.size()) continue;
      named = true;
      const bool inside = same_bits(item.address, address, item.bits);
      if (item.negated && inside) return false;
      if (!item.negated) some = true, wanted = wanted || inside;
    }
    return named && (wanted || !some);
  }
};

struct OraclePacket {
  bool is_ip = false;
  int protocol = 0;
  bool has_ports = false;
  int source_port = 0, destination_port = 0;
  std::string network = {}, transport = {}, payload = {};  // transport: empty if it is not whole
  std::string source = std::string(4, '\0'), destination = std::string(4, '\0');
  int fragment = -1;  // bytes 2 and 3 of IPv6's fragment header, if there is one

  bool is_ip6() const { return source.size() == 16; }
};

/** Goes over IPv6's extension headers from `at` on; false: what is there is a later fragment. */
inline bool oracle_extensions(const test::Bytes& bytes, OraclePacket& packet, size_t& at) {
  while (at + 8 <= bytes.size()) {
    size_t length = 8;
    if (packet.protocol == 0 || packet.protocol == 43 || packet.protocol == 60)
      length = 8 + bytes[at + 1] * 8u;
    else if (packet.protocol == 51)
      length = 4 * (bytes[at + 1] + 2u);
    else if (packet.protocol != 44)
      break;
    if (at + length > bytes.size()) break;
    const bool is_fragment = packet.protocol == 44;
    if (is_fragment) packet.fragment = bytes[at + 2] * 256 + bytes[at + 3];
    packet.protocol = bytes[at];
    at += length;
    if (is_fragment && packet.fragment / 8 > 0) return false;
  }
  return true;
}

inline OraclePacket oracle_packet(const test::Frame& frame) {
  const auto& bytes = frame.bytes;
  const auto part = [&](size_t from, size_t to) {
    return std::string(bytes.begin() + static_cast<long>(from), bytes.begin() + static_cast<long>(to));
  };
  const size_t l3 = frame.column[static_cast<int>(Column::l3)];
  size_t l4 = frame.column[static_cast<int>(Column::l4)];
  OraclePacket packet;
  if (l3 + 20 > bytes.size()) return packet;
  const bool is_ip6 = bytes[l3] / 16 == 6;
  if (is_ip6 && l3 + 40 > bytes.size()) return packet;
  packet.is_ip = true;
  packet.protocol = bytes[l3 + (is_ip6 ? 6 : 9)];
  l4 = std::min(l4, bytes.size());
  const bool first = is_ip6 ? oracle_extensions(bytes, packet, l4) : (bytes[l3 + 6] & 31) == 0 && bytes[l3 + 7] == 0;
  const size_t room = bytes.size() - l4;
  size_t header = 0;
  if (first && packet.protocol == 6 && room >= 20 && bytes[l4 + 12] / 16 >= 5) header = bytes[l4 + 12] / 16 * 4u;
  if (first && (packet.protocol == 17 || packet.protocol == 1 || packet.protocol == 58)) header = 8;
  if (header > room) header = 0;
  packet.has_ports = header > 0 && (packet.protocol == 6 || packet.protocol == 17);
  if (packet.has_ports) {
    packet.source_port = bytes[l4] * 256 + bytes[l4 + 1];
    packet.destination_port = bytes[l4 + 2] * 256 + bytes[l4 + 3];
  }
  packet.network = part(l3, l3 + (is_ip6 ? 40 : 20));
  packet.source = is_ip6 ? part(l3 + 8, l3 + 24) : part(l3 + 12, l3 + 16);
  packet.destination = is_ip6 ? part(l3 + 24, l3 + 40) : part(l3 + 16, l3 + 20);
  packet.transport = part(l4, l4 + header);
  size_t end = bytes.size();
  if (header == 8 && packet.protocol == 17) {
    const size_t length = bytes[l4 + 4] * 256u + bytes[l4 + 5];
    if (length >= 8 && length <= room) end = l4 + length;
  }
  packet.payload = part(l4 + header, end);
  return packet;
}

}  // namespace heddle::nids
