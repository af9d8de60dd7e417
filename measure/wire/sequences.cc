#include "measure/wire/sequences.h"

#include <algorithm>

#include "core/cache_line.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kWordsInAll = 1 << 17;  ///< 1 MB of bits, unless each flow has the least: they stay in the cache
constexpr uint32_t kMinWords = 4, kMaxWords = 1024, kLineWords = kCacheLine / sizeof(uint64_t);

uint32_t words_for(uint32_t flows) {
  uint32_t words = kMaxWords;
  while (words > kMinWords && uint64_t{words} * flows > kWordsInAll) words /= 2;
  return words;
}

}  // namespace

Sequences::Sequences(uint32_t flows, bool shared)
    : words_(words_for(flows)),
      stride_(words_ > kLineWords ? words_ + kLineWords : words_),
      shared_(shared),
      states_(new State[flows]),
      seen_(new uint64_t[static_cast<size_t>(flows) * stride_]()) {}

/** Empties the words between the last one in use, that of `next` - 1, and that of `sequence`. */
void Sequences::enter_words(uint64_t* seen, uint32_t next, uint32_t sequence) {
  const uint32_t last = (next - 1) / 64, entered = sequence / 64;
  const uint32_t many = std::min((entered - last) & (UINT32_MAX / 64), words_);
  for (uint32_t i = 0; i < many; ++i) seen[(entered - i) & (words_ - 1)] = 0;
}

}  // namespace heddle::bench
