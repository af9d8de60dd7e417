#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace heddle {

struct SipKey {
  uint64_t first, second;
};

/** SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, INDOCRYPT 2012) of a message of whole words, in memory order on
 *  machines where the lowest byte comes first: who does not know the key can neither tell what a message's hash is nor
 *  find two with the same. */
inline uint64_t sip_hash(const SipKey& key, std::span<const uint64_t> words) {
  uint64_t a = key.first ^ 0x736f6d6570736575u, b = key.second ^ 0x646f72616e646f6du,
           c = key.first ^ 0x6c7967656e657261u, d = key.second ^ 0x7465646279746573u;
  const auto rounds = [&](int n) {
    for (; n > 0; --n) {
      a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
      c += d, d = std::rotl(d, 16) ^ c;
      a += d, d = std::rotl(d, 21) ^ a;
      c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
    }
  };
  const auto add = [&](uint64_t word) {
    d ^= word;
    rounds(2);
    a ^= word;
  };
  for (const uint64_t word : words) add(word);
  add(uint64_t{words.size_bytes()} << 56);
  c ^= 0xff;
  rounds(4);
  return a ^ b ^ c ^ d;
}

}  // namespace heddle
