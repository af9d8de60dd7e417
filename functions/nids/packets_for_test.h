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
  if (protocol == 6) bytes[kL3 + 32] = static_cast<uint8_t>(tcp_words << 4);
  std::copy(payload.begin(), payload.end(), bytes.begin() + static_cast<long>(kL3 + 20 + header));
  return frame;
}

}  // namespace heddle::test
