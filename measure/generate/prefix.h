#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::bench {

enum class Family { ipv4, ipv6 };
constexpr int address_bits(Family family) { return family == Family::ipv4 ? 32 : 128; }

/** An address of either family: its first bit is bit 127, so that IPv4 takes the upper 32 bits. */
__extension__ using Address = unsigned __int128;

/** The bits that a prefix of `length` (0..128) fixes. */
constexpr Address prefix_bits(int length) { return length == 0 ? 0 : ~Address{0} << (128 - length); }

/** Bits of `address` after the first `length` are zero. */
struct Prefix {
  Address address = 0;
  int length = 0;
  auto operator<=>(const Prefix&) const = default;  ///< by address, then the shorter first
  bool covers(const Prefix& other) const {
    return length <= other.length && ((address ^ other.address) & prefix_bits(length)) == 0;
  }
};

struct PrefixHash {
  size_t operator()(const Prefix& prefix) const {
    uint64_t hash = static_cast<uint64_t>(prefix.address >> 64) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32 ^ static_cast<uint64_t>(prefix.address) ^ static_cast<uint64_t>(prefix.length)) *
           0xd6e8feb86659fd93u;
    return hash ^ hash >> 32;
  }
};

/** "192.0.2.0/24" or "2001:db8::/32". */
std::string to_text(const Prefix& prefix, Family family);
/** ADDRESS/LENGTH; bits after the length must be zero. False if `text` is none of `family`. */
bool parse_prefix(std::string_view text, Family family, Prefix& prefix);

}  // namespace heddle::bench
