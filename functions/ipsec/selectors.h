#pragma once

#include <bitset>
#include <cstdint>
#include <cstring>
#include <unordered_map>

namespace heddle::ipsec {

/** An IPv6 address, a number; IPv4 addresses are those of ::ffff:0:0/96. */
__extension__ typedef unsigned __int128 Address;

constexpr Address mapped(uint32_t ip4) { return Address{0xffff} << 32 | ip4; }
/** From memory, network byte order. */
inline Address address6(const uint8_t* bytes) {
  uint64_t high, low;
  std::memcpy(&high, bytes, sizeof high);
  std::memcpy(&low, bytes + 8, sizeof low);
  return Address{__builtin_bswap64(high)} << 64 | __builtin_bswap64(low);
}

struct Prefix {
  Address address = 0;
  uint8_t length = 0;  ///< of an IPv4 prefix: 96 more
  bool has(Address other) const { return length == 0 || (address ^ other) >> (128 - length) == 0; }
};

/** Of which inner packets an association is. */
struct Selector {
  enum class Family : uint8_t { any, ip4, ip6 };
  /** Where a packet comes from and goes to; `any`: it is no IP packet. */
  struct Ends {
    Family family = Family::any;
    Address source = 0, destination = 0;
  };
  Prefix source, destination;
  Family family = Family::any;
  bool has(const Ends& ends) const {
    return family == Family::any ||
           (family == ends.family && source.has(ends.source) && destination.has(ends.destination));
  }
};

/** Of the header of an IP packet of which `available` bytes are there. */
Selector::Ends ends_of(const uint8_t* header, uint32_t available);

/** Finds a packet's association: the longest destination that has its addresses, of several the first. */
class Selectors {
 public:
  void add(const Selector& selector, uint32_t index);
  static constexpr uint32_t kNone = ~0u;
  uint32_t find(const Selector::Ends& ends) const;

 private:
  struct Key {
    Address prefix;
    uint8_t length;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return (static_cast<uint64_t>(key.prefix >> 64) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(key.prefix)) *
                 0xbf58476d1ce4e5b9u +
             key.length;
    }
  };
  struct Entry {
    Selector selector;
    uint32_t index;
  };
  static Key key(Address destination, uint32_t length) {
    return {length == 0 ? 0 : destination >> (128 - length), static_cast<uint8_t>(length)};
  }

  std::unordered_multimap<Key, Entry, KeyHash> by_destination_;
  std::bitset<129> lengths_;  // bit n: a destination has length n
};

}  // namespace heddle::ipsec
