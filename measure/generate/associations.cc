#include "measure/generate/associations.h"

#include <bit>

#include "core/error.h"
#include "measure/generate/random.h"

namespace heddle::bench {
namespace {

std::string key_of(Random& random, int bytes) {
  std::string text = "0x";
  for (int i = 0; i < bytes; ++i) text += format("%02x", static_cast<unsigned>(random.below(256)));
  return text;
}

std::string address(uint32_t a) { return format("%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255); }

}  // namespace

std::string generate_associations(size_t count, EspSuite suite, uint64_t seed) {
  constexpr uint32_t kOuter = 198u << 24 | 18u << 16;
  Random random(seed);
  const auto bits = static_cast<uint32_t>(std::bit_width(count - 1));
  std::string text =
      "# DEMONSTRATION ONLY: keys from the seed " + std::to_string(seed) + ", so they protect nothing.\n";
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<uint32_t>(i);
    text += "src " + address(kOuter + 1) + " dst " + address(kOuter + 2 + number % 65533) + "\n";
    text += format("\tproto esp spi 0x%08x reqid %u mode tunnel\n\treplay-window 64\n", 0x1001 + number, number + 1);
    if (suite == EspSuite::gcm) {
      text += "\taead rfc4106(gcm(aes)) " + key_of(random, 20) + " 128\n";
    } else {
      text += suite == EspSuite::ctr_sha1 ? "\tauth-trunc hmac(sha1) " + key_of(random, 20) + " 96\n"
                                          : "\tauth-trunc hmac(sha256) " + key_of(random, 32) + " 128\n";
      text += "\tenc rfc3686(ctr(aes)) " + key_of(random, 20) + "\n";
    }
    const bool last = i + 1 == count;
    text += "\tsel src 0.0.0.0/0 dst " + address(last || bits == 0 ? 0 : number << (32 - bits)) +
            format("/%u\n", last ? 0 : bits);
  }
  return text;
}

}  // namespace heddle::bench
