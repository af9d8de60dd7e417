#include "measure/generate/prefix.h"

#include <arpa/inet.h>

#include "measure/generate/text.h"

namespace heddle::bench {

std::string to_text(const Prefix& prefix, Family family) {
  uint8_t bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<uint8_t>(prefix.address >> (120 - 8 * i));
  char text[INET6_ADDRSTRLEN];
  inet_ntop(family == Family::ipv4 ? AF_INET : AF_INET6, bytes, text, sizeof text);
  return text + ("/" + std::to_string(prefix.length));
}

bool parse_prefix(std::string_view text, Family family, Prefix& prefix) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return false;
  uint8_t bytes[16] = {};
  if (inet_pton(family == Family::ipv4 ? AF_INET : AF_INET6, std::string(text.substr(0, slash)).c_str(), bytes) != 1)
    return false;
  prefix.address = 0;
  for (const uint8_t byte : bytes) prefix.address = prefix.address << 8 | byte;
  return parse_number(text.substr(slash + 1), prefix.length) && prefix.length >= 0 &&
         prefix.length <= address_bits(family) && (prefix.address & ~prefix_bits(prefix.length)) == 0;
}

}  // namespace heddle::bench
