#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/macros.h"
#include "functions/ipsec/rule.h"

/** Which inner packets are an association's; CPU and GPU. */
namespace heddle::ipsec {

/** An IPv6 address, a number; IPv4 addresses are those of ::ffff:0:0/96. */
__extension__ typedef unsigned __int128 Address;

HEDDLE_HD constexpr Address mapped(uint32_t ip4) { return Address{0xffff} << 32 | ip4; }
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
  HEDDLE_HD bool has(Address other) const { return length == 0 || (address ^ other) >> (128 - length) == 0; }
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
  HEDDLE_HD bool has(const Ends& ends) const {
    return family == Family::any ||
           (family == ends.family && source.has(ends.source) && destination.has(ends.destination));
  }
};

/** Of the header of an IP packet of which `available` bytes are there; `load(at)` gives four of them, as they lie. */
template <class Load>
HEDDLE_HD Selector::Ends ends_from(const Load& load, uint32_t available) {
  using Family = Selector::Family;
  if (available < kIp4Bytes) return {};
  const uint32_t version = load(0) >> 4 & 15;
  if (version == 4) return {Family::ip4, mapped(swapped(load(12))), mapped(swapped(load(16)))};
  if (version != 6 || available < kIp6Bytes) return {};
  const auto address = [&](uint32_t at) {
    Address value = 0;
    for (uint32_t word = 0; word < 16; word += 4) value = value << 32 | swapped(load(at + word));
    return value;
  };
  return {Family::ip6, address(8), address(24)};
}
Selector::Ends ends_of(const uint8_t* header, uint32_t available);

/** Selectors as packets look them up: this, then `count` entries, then the slots of two hashes: of destinations, and,
 *  of those that many entries have, of their sources. */
struct alignas(16) SelectorImage {
  struct Entry {
    Selector selector;
    uint32_t index;  ///< of its association
    uint32_t alike;  ///< of the first of a destination: how many have it
  };
  /** Prefix lengths that selectors have. */
  struct Lengths {
    uint32_t count;
    uint8_t list[129];
  };
  static constexpr uint32_t kLooked = 8;  ///< so many entries of a destination are looked at one by one

  uint32_t count;             ///< of entries, those of one destination one behind the other, by index
  uint32_t slot_mask;         ///< number of slots of destinations - 1, a power of two
  uint32_t source_slot_mask;  ///< the same of sources
  Lengths lengths;            ///< of destinations, falling
  Lengths source_lengths;     ///< of sources that have slots

  HEDDLE_HD const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
  /** [slot_mask + 1]: 1 + the first entry of a destination, or 0. */
  HEDDLE_HD const uint32_t* slots() const { return reinterpret_cast<const uint32_t*>(entries() + count); }
  /** [source_slot_mask + 1]: 1 + the first entry of a destination, source and family, or 0. */
  HEDDLE_HD const uint32_t* source_slots() const { return slots() + slot_mask + 1; }

  /** The bits of a prefix; in the lowest places. */
  HEDDLE_HD static Address key(Address address, uint32_t length) { return length == 0 ? 0 : address >> (128 - length); }
  HEDDLE_HD static uint32_t hash(Address key, uint32_t length) {
    const uint64_t mixed =
        (static_cast<uint64_t>(key >> 64) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(key)) * 0xbf58476d1ce4e5b9u +
        length;
    return static_cast<uint32_t>(mixed >> 32 ^ mixed);
  }
  /** Of a source of the destination whose first entry is `first`. */
  HEDDLE_HD static uint32_t hash(uint32_t first, Address key, uint32_t length) {
    return hash(key, length) + first * 0x9e3779b1u;
  }
  HEDDLE_HD bool is(uint32_t entry, Address its_key, uint32_t length) const {
    const Prefix& prefix = entries()[entry].selector.destination;
    return prefix.length == length && key(prefix.address, length) == its_key;
  }

  static constexpr uint32_t kNone = ~0u;
  /** A packet's association: the longest destination that has its addresses, of several the first; or kNone. */
  HEDDLE_HD uint32_t find(const Selector::Ends& ends) const {
    if (ends.family == Selector::Family::any) return kNone;
    for (uint32_t l = 0; l < lengths.count; ++l) {
      const uint32_t length = lengths.list[l];
      const Address wanted = key(ends.destination, length);
      for (uint32_t at = hash(wanted, length) & slot_mask; slots()[at] != 0; at = (at + 1) & slot_mask) {
        const uint32_t first = slots()[at] - 1;
        if (!is(first, wanted, length)) continue;
        const uint32_t found =
            entries()[first].alike <= kLooked ? first_of_few(first, ends) : first_of_many(first, ends);
        if (found != kNone) return entries()[found].index;
        break;
      }
    }
    return kNone;
  }

 private:
  // The first entry of a destination that has these ends; kNone: none.
  HEDDLE_HD uint32_t first_of_few(uint32_t first, const Selector::Ends& ends) const {
    for (uint32_t e = first, end = first + entries()[first].alike; e < end; ++e)
      if (entries()[e].selector.has(ends)) return e;
    return kNone;
  }
  HEDDLE_HD uint32_t first_of_many(uint32_t first, const Selector::Ends& ends) const {
    uint32_t found = kNone;
    const uint32_t end = first + entries()[first].alike;
    for (uint32_t l = 0; l < source_lengths.count; ++l) {
      const uint32_t length = source_lengths.list[l];
      uint32_t at = hash(first, key(ends.source, length), length) & source_slot_mask;
      for (; source_slots()[at] != 0; at = (at + 1) & source_slot_mask) {
        const uint32_t e = source_slots()[at] - 1;
        const bool may_be = first <= e && e < end && e < found && entries()[e].selector.source.length == length;
        if (may_be && entries()[e].selector.has(ends)) found = e;
      }
    }
    return found;
  }
};

/** Makes such an image; selector i is association i's. */
class Selectors {
 public:
  void load(std::span<const Selector> list);
  std::span<const std::byte> bytes() const { return memory_; }
  const SelectorImage& image() const { return *reinterpret_cast<const SelectorImage*>(memory_.data()); }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace heddle::ipsec
