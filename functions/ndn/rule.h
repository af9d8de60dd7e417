#pragma once

#include "functions/cuckoo/rule.h"
#include "functions/ndn/hash_rule.h"

namespace heddle::ndn {

// NDN packet format 0.3: TLVs with numbers of 1, 3 or 5 bytes, in the shortest form (section 1.1). An Interest or Data
// packet begins with its Name, which is a TLV of components. Over Ethernet (type 0x8624) it may lie in an LpPacket
// (NDNLPv2).
constexpr uint32_t kInterest = 5, kData = 6, kName = 7, kLpPacket = 100, kFragment = 80, kFragCount = 83;
constexpr uint32_t kMaxType = 65535;  ///< of a name component; 0 is none

/** Routes have at most this many components, so that a word can say which numbers of components there are. */
constexpr int kMaxComponents = 31;

/** What becomes of a packet; those from kNoRoute on are reasons to drop it, by their order. */
enum class Kind : uint8_t { interest, data, malformed, fragment };
enum Reason : int { kNoRoute, kIsData, kMalformed, kIsFragment };

/** Where a TLV lies: its value is bytes [value, end). */
struct Tlv {
  uint32_t type, value, end;
};

/** Reads a number at `at`, and moves `at` behind it; false if it is not whole before `end`, or not in the shortest
 *  form. Bytes: has bytes(at, n), the n (0..8) bytes from `at` on as a little-endian number. */
template <class Bytes>
HEDDLE_HD inline bool read_number(const Bytes& packet, uint32_t& at, uint32_t end, uint32_t& number) {
  if (at >= end) return false;
  const auto first = static_cast<uint32_t>(packet.bytes(at, 1));
  ++at;
  if (first < 253) {
    number = first;
    return true;
  }
  const uint32_t size = first == 253 ? 2 : 4;
  if (first == 255 || end - at < size) return false;
  number = 0;
  for (uint64_t b = 0, word = packet.bytes(at, size); b < size; ++b, word >>= 8)
    number = number << 8 | static_cast<uint32_t>(word & 255);
  at += size;
  return number >= (size == 2 ? 253u : 65536u);
}

/** Reads type and length at `at`; false if there is no TLV that ends by `end`. */
template <class Bytes>
HEDDLE_HD inline bool read_tlv(const Bytes& packet, uint32_t at, uint32_t end, Tlv& tlv) {
  uint32_t length;
  if (!read_number(packet, at, end, tlv.type) || !read_number(packet, at, end, length) || end - at < length)
    return false;
  tlv.value = at;
  tlv.end = at + length;
  return true;
}

/** Walks the components in bytes [at, end). Calls visit(components, key, hash) for the beginnings of the name with as
 *  many components as `lengths` has bits for, the shortest first. False if they are malformed; some of the visits have
 *  been made then. */
template <class Bytes, class Visit>
HEDDLE_HD inline bool visit_prefixes(const Bytes& packet, uint32_t at, uint32_t end, uint64_t seed, uint32_t lengths,
                                     const Visit& visit) {
  NameHash hash;
  hash_begin(&hash, seed);
  const uint32_t begin = at;
  uint32_t added = at;
  for (int components = 0;; ++components) {
    if (components <= kMaxComponents) {
      for (; at - added >= 8; added += 8) hash_add(&hash, packet.bytes(added, 8));
      if ((lengths >> components & 1) != 0) {
        uint64_t key;
        uint32_t bucket;
        hash_finish(&hash, packet.bytes(added, at - added) | static_cast<uint64_t>(at - begin) << 56, &key, &bucket);
        visit(components, key, bucket);
      }
    }
    if (at == end) return true;
    Tlv component;
    if (!read_tlv(packet, at, end, component) || component.type == 0 || component.type > kMaxType) return false;
    at = component.end;
  }
}

/** What the packet in bytes [at, end) is, and where the components of its name lie. Bytes behind it are none of its. */
template <class Bytes>
HEDDLE_HD inline Kind find_name(const Bytes& packet, uint32_t at, uint32_t end, Tlv& name) {
  Tlv outer;
  if (!read_tlv(packet, at, end, outer)) return Kind::malformed;
  if (outer.type == kLpPacket) {
    Tlv field{0, 0, outer.value};
    do {
      if (!read_tlv(packet, field.end, outer.end, field)) return Kind::malformed;
      const uint32_t size = field.end - field.value;
      if (field.type == kFragCount && (size != 1 || packet.bytes(field.value, 1) != 1)) return Kind::fragment;
    } while (field.type != kFragment);
    if (!read_tlv(packet, field.value, field.end, outer)) return Kind::malformed;
  }
  if (outer.type != kInterest && outer.type != kData) return Kind::malformed;
  if (!read_tlv(packet, outer.value, outer.end, name) || name.type != kName || name.value == name.end)
    return Kind::malformed;
  return outer.type == kInterest ? Kind::interest : Kind::data;
}

}  // namespace heddle::ndn
