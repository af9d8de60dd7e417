#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "bench/gopt/trie_rule.h"
#include "core/huge_pages.h"

namespace heddle::bench {

struct Prefix6 {
  uint8_t address[16];
  int length;
  uint32_t hop;
};

/** The paper's: `count` random prefixes of 48 to 64 bits, in order of length, with `hops` hops. */
inline std::vector<Prefix6> random_prefixes(size_t count, uint32_t hops, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Prefix6> prefixes(count);
  for (Prefix6& prefix : prefixes) {
    for (uint8_t& byte : prefix.address) byte = static_cast<uint8_t>(random());
    prefix.length = 48 + static_cast<int>(random() % 17);
    for (int bit = prefix.length; bit < 128; ++bit)
      prefix.address[bit / 8] = static_cast<uint8_t>(prefix.address[bit / 8] & ~(128 >> bit % 8));
    prefix.hop = static_cast<uint32_t>(random()) % hops;
  }
  std::ranges::stable_sort(prefixes, {}, &Prefix6::length);
  return prefixes;
}

/** A trie as trie_rule.h has it, of prefixes in order of length. */
class Trie {
 public:
  explicit Trie(const std::vector<Prefix6>& prefixes) {
    size_t groups = 1;
    for (const Prefix6& prefix : prefixes) groups += static_cast<size_t>(std::max(0, (prefix.length - 17) / 8));
    memory_ = map_huge_pages((kFirst + groups * 256) * sizeof(uint32_t));
    for (const Prefix6& prefix : prefixes) add(prefix);
  }
  const uint32_t* tbl24() const { return entries(); }
  const uint32_t* tbl8() const { return entries() + kFirst; }
  size_t bytes() const { return (kFirst + groups_ * 256) * sizeof(uint32_t); }

 private:
  static constexpr size_t kFirst = size_t{1} << 24;
  uint32_t* entries() const { return reinterpret_cast<uint32_t*>(memory_.get()); }

  void add(const Prefix6& prefix) {
    uint32_t* level = entries();
    size_t at = size_t{prefix.address[0]} << 16 | size_t{prefix.address[1]} << 8 | prefix.address[2];
    int end = 24;
    for (; prefix.length > end; end += 8) {
      if (level[at] < kDeeper) {
        std::fill_n(entries() + kFirst + groups_ * 256, 256, level[at]);
        level[at] = kDeeper + static_cast<uint32_t>(groups_++);
      }
      level = entries() + kFirst + size_t{level[at] - kDeeper} * 256;
      at = prefix.address[end / 8];
    }
    std::fill_n(level + at, size_t{1} << (end - prefix.length), prefix.hop + 1);
  }

  HugePages memory_;
  size_t groups_ = 0;
};

}  // namespace heddle::bench
