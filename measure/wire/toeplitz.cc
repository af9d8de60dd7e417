#define ALLOW_EXPERIMENTAL_API
#include "measure/wire/toeplitz.h"

#include <rte_thash.h>

#include <cstring>

namespace heddle::bench {

const HashKey kMicrosoftKey = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
                               0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
                               0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

const HashKey kSymmetricKey = [] {
  HashKey key;
  for (size_t i = 0; i < key.size(); ++i) key[i] = i % 2 == 0 ? 0x6d : 0x5a;
  return key;
}();

uint32_t toeplitz_hash(const FiveTuple& flow, const HashKey& key) {
  uint32_t words[] = {flow.source, flow.destination, uint32_t{flow.source_port} << 16 | flow.destination_port};
  const bool ports = flow.protocol == kTcp || flow.protocol == kUdp;
  return rte_softrss(words, ports ? 3 : 2, key.data());
}

uint32_t toeplitz_hash(const FiveTuple& flow, const Ip6Addresses& ip6, const HashKey& key) {
  uint32_t words[9] = {};  // host byte order
  std::memcpy(words, ip6.source.data(), 16);
  std::memcpy(words + 4, ip6.destination.data(), 16);
  for (uint32_t& word : words) word = __builtin_bswap32(word);
  words[8] = uint32_t{flow.source_port} << 16 | flow.destination_port;
  const bool ports = flow.protocol == kTcp || flow.protocol == kUdp;
  return rte_softrss(words, ports ? 9 : 8, key.data());
}

}  // namespace heddle::bench
