#pragma once

#include <unistd.h>

#include <bit>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "functions/classifier/rule.h"
#include "tests/support/harness.h"

// Rules as text and packets for keys, for the elements' tests.
namespace heddle::test {

using namespace classifier;

constexpr size_t kL3 = 14;

inline std::string rule_text(const Rule& rule) {
  const auto prefix = [&](Field f) {
    const uint32_t low = rule.low[f], length = 32 - static_cast<uint32_t>(std::bit_width(low ^ rule.high[f]));
    return format("%u.%u.%u.%u/%u", low >> 24, low >> 16 & 255, low >> 8 & 255, low & 255, length);
  };
  const uint32_t first = rule.low[kProtocol], last = rule.high[kProtocol];
  const std::string protocol = first == last                               ? format("0x%02x/0xFF", first)
                               : first == 0 && last == kLargest[kProtocol] ? "0x00/0x00"
                                                                           : format("%u-%u", first, last);
  return format("@%s %s %u : %u %u : %u %s %s", prefix(kSource).c_str(), prefix(kDestination).c_str(),
                rule.low[kSourcePort], rule.high[kSourcePort], rule.low[kDestinationPort], rule.high[kDestinationPort],
                protocol.c_str(), rule.next < kDrop ? std::to_string(rule.next).c_str() : "deny");
}

/** A file with these rules that is gone with the object. */
struct RuleFile {
  explicit RuleFile(const std::string& name)
      : path(testing::TempDir() + std::to_string(getpid()) + "heddle_" + name + ".rules") {}
  ~RuleFile() { std::remove(path.c_str()); }
  void write(const std::vector<Rule>& rules) const {
    std::ofstream out(path);
    for (const Rule& rule : rules) out << rule_text(rule) << "\n";
  }
  std::string path;
};

inline Frame packet_of(const Key& key, size_t payload = 8, unsigned options = 0) {
  Frame frame = ip_frame(key[kSource], key[kDestination], payload + options);
  frame.bytes[kL3] = static_cast<uint8_t>(0x45 + options / 4);
  frame.bytes[kL3 + 9] = static_cast<uint8_t>(key[kProtocol]);
  set_ip_checksum(frame.bytes, kL3);
  const size_t l4 = kL3 + 20 + options;
  if (payload >= 2) put_u16(frame.bytes, l4, key[kSourcePort]);
  if (payload >= 4) put_u16(frame.bytes, l4 + 2, key[kDestinationPort]);
  frame.column[static_cast<int>(Column::l3)] = kL3;
  frame.column[static_cast<int>(Column::l4)] = l4;
  return frame;
}

const char* const kSinks =
    "c[0] -> s0 :: TestSink(READS rule); c[1] -> s1 :: TestSink(READS rule); c[2] -> s2 :: TestSink(READS rule);";

/** Values of ENGINE. */
inline std::vector<std::string> engines_on(const Backend& backend) {
  if (backend.on_gpu()) return {"auto", "bitvector", "tuple", "hypersplit"};
  return {"auto", "bitvector", "acl", "tuple", "hypersplit"};
}

}  // namespace heddle::test
