#pragma once

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "functions/nids/oracle_for_test.h"
#include "tests/support/frames.h"
#include "tests/support/harness.h"

namespace heddle::test {

inline constexpr size_t kL3 = 14;

/** A file that is gone with the object. */
struct TextFile {
  explicit TextFile(const std::string& name)
      : path(testing::TempDir() + "heddle_nids_" + name + "_" + std::to_string(getpid())) {}
  ~TextFile() { std::remove(path.c_str()); }
  void write(const std::vector<nids::OracleRule>& rules) const {
    std::ofstream out(path);
    for (const nids::OracleRule& rule : rules) out << rule.text();
  }
  std::string path;
};

/** An Ethernet frame with IPv4 and this payload. */
inline Frame packet_with(int protocol, const std::string& payload, unsigned source_port = 1,
                         unsigned destination_port = 2, unsigned tcp_words = 5) {
  const size_t header = protocol == 6 ? tcp_words * 4 : protocol == 17 || protocol == 1 ? 8 : 0;
  Frame frame = ip_frame(ip(10, 0, 0, 1), ip(10, 0, 0, 2), header + payload.size());
  Bytes& bytes = frame.bytes;
  bytes[kL3 + 9] = static_cast<uint8_t>(protocol);
  set_ip_checksum(bytes, kL3);
  frame.column[static_cast<int>(Column::l3)] = kL3;
  frame.column[static_cast<int>(Column::l4)] = kL3 + 20;
  if (header > 0) put_u16(bytes, kL3 + 20, source_port), put_u16(bytes, kL3 + 22, destination_port);
  if (protocol == 6) bytes[kL3 + 32] = static_cast<uint8_t>(tcp_words << 4), put_u16(bytes, kL3 + 34, 65535);  // window
  std::copy(payload.begin(), payload.end(), bytes.begin() + static_cast<long>(kL3 + 20 + header));
  return frame;
}

/** What a datagram's length may say where so many bytes of payload are there: mostly fewer. */
inline unsigned udp_length(std::mt19937& random, size_t payload) {
  return static_cast<unsigned>(random() % 4 == 0 ? random() % 10 : 8 + random() % (payload + 4));
}

/** Sets the checksum of the TCP segment of such a frame. */
inline void set_tcp_checksum(Bytes& bytes) {
  put_u16(bytes, kL3 + 36, 0);
  unsigned sum = 6 + static_cast<unsigned>(bytes.size() - kL3 - 20);
  for (size_t at = kL3 + 12; at < bytes.size(); at += 2)
    sum += static_cast<unsigned>(bytes[at] << 8 | (at + 1 < bytes.size() ? bytes[at + 1] : 0));
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  put_u16(bytes, kL3 + 36, ~sum & 0xffff);
}

inline constexpr size_t kIp6 = 40;

/** An address of few, 2001:db8::N or 10.0.0.N. */
inline std::string some_address(std::mt19937& random, bool is_ip6) {
  std::string address =
      is_ip6 ? std::string("\x20\x01\x0d\xb8", 4) + std::string(12, '\0') : std::string("\x0a\0\0\0", 4);
  address.back() = static_cast<char>(random() % 4);
  if (random() % 4 == 0) address[address.size() / 2] = static_cast<char>(0x80);
  return address;
}

/** An extension header `kind` before `next`. Its length may lie. */
inline Bytes extension(std::mt19937& random, uint8_t kind, uint8_t next, bool lies) {
  Bytes header(kind == 44 ? 8 : kind == 51 ? 8 + 4 * (random() % 5) : 8 + 8 * (random() % 3));
  for (uint8_t& byte : header) byte = static_cast<uint8_t>(random() % 3);
  header[0] = next;
  header[1] = static_cast<uint8_t>(kind == 44   ? random() % 3
                                   : kind == 51 ? header.size() / 4 - 2
                                                : header.size() / 8 - 1);
  if (lies) header[1] = static_cast<uint8_t>(random());
  if (kind == 44 && random() % 2 == 0) put_u16(header, 2, random() % 2 == 0 ? random() % 16 : random() % 65536);
  return header;
}

/** An Ethernet frame with IPv6, some extension headers and this payload: of TCP, UDP, ICMPv6 or another protocol. */
inline Frame ip6_packet(std::mt19937& random, const std::string& payload) {
  constexpr uint8_t kProtocols[] = {6, 6, 17, 17, 58, 58, 1, 47, 59}, kKinds[] = {0, 43, 44, 51, 60, 60, 60, 50, 135};
  const uint8_t protocol = kProtocols[random() % 9];
  const size_t words = 5 + random() % 4;
  Bytes behind(protocol == 6 ? words * 4 : protocol == 17 || protocol == 58 || protocol == 1 ? 8 : 0);
  for (uint8_t& byte : behind) byte = static_cast<uint8_t>(random() % 4);
  if (behind.size() >= 4) put_u16(behind, 0, random() % 4), put_u16(behind, 2, random() % 4);
  if (protocol == 6) behind[12] = static_cast<uint8_t>(words << 4);
  if (protocol == 17 && random() % 2 == 0) put_u16(behind, 4, udp_length(random, payload.size()));
  if (protocol == 58 && random() % 2 == 0) behind[0] = static_cast<uint8_t>(128 + random() % 2);
  behind.insert(behind.end(), payload.begin(), payload.end());
  uint8_t next = protocol;
  const size_t headers = random() % 3 != 0 ? random() % 4 : random() % 40 == 0 ? 150 : 0;
  for (size_t k = 0; k < headers; ++k) {
    const uint8_t kind = kKinds[random() % (random() % 4 == 0 ? 9 : 7)];
    const Bytes header = extension(random, kind, next, random() % 20 == 0);
    behind.insert(behind.begin(), header.begin(), header.end());
    next = kind;
  }
  Frame frame;
  Bytes& bytes = frame.bytes;
  bytes.resize(kL3 + kIp6);
  put_u16(bytes, 12, 0x86dd);
  bytes[kL3] = 0x60 | static_cast<uint8_t>(random() % 2);
  put_u16(bytes, kL3 + 4, random() % 8 == 0 ? 0 : static_cast<unsigned>(behind.size()));  // 0: as of a jumbogram
  bytes[kL3 + 6] = next, bytes[kL3 + 7] = static_cast<uint8_t>(random() % 4);
  const std::string ends = some_address(random, true) + some_address(random, true);
  std::copy(ends.begin(), ends.end(), bytes.begin() + kL3 + 8);
  bytes.insert(bytes.end(), behind.begin(), behind.end());
  frame.column[static_cast<int>(Column::l3)] = kL3;
  frame.column[static_cast<int>(Column::l4)] = kL3 + kIp6;
  return frame;
}

}  // namespace heddle::test
