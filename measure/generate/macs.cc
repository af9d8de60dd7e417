#include "measure/generate/macs.h"

#include <unordered_set>

#include "click/values.h"
#include "measure/generate/random.h"

namespace heddle::bench {

std::string mac_file(size_t count, uint32_t ports, uint64_t seed) {
  Random random(seed);
  std::unordered_set<uint64_t> taken;
  std::string text;
  while (taken.size() < count) {
    const uint64_t bits = random.bits() >> 16;
    if (!taken.insert(bits & 0xfcffffffffff).second) continue;
    click::EthernetAddress address;
    for (size_t byte = 0; byte < 6; ++byte) address.bytes[byte] = static_cast<uint8_t>(bits >> (40 - 8 * byte));
    address.bytes[0] = static_cast<uint8_t>((address.bytes[0] & 0xfc) | 2);  // locally administered, of one host
    text += to_text(address) + " " + std::to_string(random.below(ports)) + "\n";
  }
  return text;
}

}  // namespace heddle::bench
