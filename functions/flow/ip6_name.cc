#include "functions/flow/ip6_name.h"

#include <random>

#include "core/sip_hash.h"

namespace heddle::flow {
namespace {

SipKey random_key() {
  std::random_device random;
  const auto word = [&] { return uint64_t{random()} << 32 | random(); };
  return {word(), word()};
}

}  // namespace

uint64_t ip6_name(std::span<const uint64_t> addresses) {
  static const SipKey key = random_key();
  return sip_hash(key, addresses);
}

}  // namespace heddle::flow
