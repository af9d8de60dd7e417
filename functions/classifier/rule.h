#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "core/macros.h"

namespace heddle::classifier {

/** What rules look at, in this order: the 5-tuple. */
enum Field : int { kSource, kDestination, kSourcePort, kDestinationPort, kProtocol, kFields };
constexpr uint32_t kLargest[kFields] = {~0u, ~0u, 0xffff, 0xffff, 0xff};  ///< values of the fields
constexpr const char* kFieldNames[kFields] = {"source", "destination", "source port", "destination port", "protocol"};

/** Values of the fields, host byte order. */
using Key = std::array<uint32_t, kFields>;

/** Where a field beside the 5-tuple is: bytes of the packet, 1, 2 or 4, that are a big-endian number, or a column. What
 *  a packet does not have counts as 0. */
struct Place {
  enum Kind : uint8_t {
    field,         ///< one of the 5-tuple, `offset`, of which a rule wants some bits only
    version,       ///< of the IP header: 4 or 6
    source6,       ///< bytes of the IPv6 source address from `offset`; Key has the first four
    destination6,  ///< the same of the destination
    vlan,          ///< identifier in the column vlan, 0 to 4095
    paint,         ///< the column paint, 0 to 255
    frame,         ///< bytes from `offset` of the packet, as the element sees it
    network,       ///< from `offset` of the IP header
    transport,     ///< from `offset` of what follows the IP header; a later fragment has none
  };
  Kind kind;
  uint8_t length;  ///< bytes: 1, 2 or 4
  uint16_t offset;
  /** The largest value. */
  constexpr uint32_t largest() const {
    return kind == field ? kLargest[offset] : kind == vlan ? 4095 : ~0u >> (32 - 8 * length);
  }
  auto operator<=>(const Place&) const = default;
};
constexpr Place kTcpFlags{Place::transport, 1, 13}, kVlan{Place::vlan, 2, 0}, kPaint{Place::paint, 1, 0},
    kIpVersion{Place::version, 1, 0};

/** Packets of which IP versions a set has rules for. */
enum class Versions : uint16_t {
  ip4,   ///< others hit no rule
  both,  ///< IPv4 and IPv6, told apart
  any    ///< rules look at bytes of any protocol; the 5-tuple is that of IPv4, and of others 0
};

/** Asks for low <= (value & mask) <= high. The mask has all bits of the place, or low is high. */
struct Condition {
  Place place;
  uint32_t mask, low, high;
  constexpr bool holds(uint32_t value) const { return (value & mask) >= low && (value & mask) <= high; }
  bool operator==(const Condition&) const = default;
};

/** Asks for low <= value <= high of 16 bytes, which are a big-endian number; words in host byte order, the first the
 *  highest. */
struct WideRange {
  Place first;  ///< of the first 4 bytes, see word_of(); of an IPv6 address kSource or kDestination
  std::array<uint32_t, 4> low, high;
  bool operator==(const WideRange&) const = default;
};

/** Matches a key if low[f] <= key[f] <= high[f] for all fields, and all of `more` and `wide` hold. Of several the one
 *  with the lowest number wins. Engines get rules without `wide`: see parts(). */
struct Rule {
  Key low{}, high{kLargest[0], kLargest[1], kLargest[2], kLargest[3], kLargest[4]};
  uint16_t next = 0;              ///< what becomes of the packet, as in Batch::next(): an output, or kDrop + reason
  std::vector<Condition> more{};  ///< at most one for a place, ascending
  std::vector<WideRange> wide{};  ///< the same
  bool operator==(const Rule&) const = default;
};

constexpr uint32_t kNoRule = ~0u;

/** A rule of a set, or a part of one. `number` is its place: of the rules that match, the lowest number wins. `id`,
 *  below kMaxRules, is its own for as long as a reader can meet it. */
struct SetRule {
  uint32_t number = 0, id = 0;
  Rule rule;
};
constexpr uint32_t kMaxRules = 1 << 22, kNoId = ~0u;

/** What a search tells of a packet. */
struct Outcome {
  uint32_t number = kNoRule;  ///< of the rule that it hits; kNoRule: none
  uint32_t id = kNoId;        ///< of that rule; kNoId: none
  uint32_t next = 0;          ///< what becomes of the packet, as Rule::next
};

constexpr uint32_t kNetworkBytes = 20, kPortBytes = 4;  ///< least bytes of an IPv4 header; of the ports behind it

// Where a packet's key lies: bytes 6..9 of the IPv4 header, which are `control` here (as loaded: the first byte is the
// lowest), its addresses from byte 12, and the first four bytes of the transport header. RFC 791, 3.1.
HEDDLE_HD constexpr uint32_t protocol_of(uint32_t control) { return control >> 24; }
/** TCP, UDP, DCCP, SCTP and UDP-Lite. */
HEDDLE_HD constexpr bool names_ports(uint32_t protocol) {
  return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}
/** Whether the packet starts with a transport header that has ports: no later fragment. */
HEDDLE_HD constexpr bool has_ports(uint32_t control) {
  return (control & 0xff1f) == 0 && names_ports(protocol_of(control));
}
HEDDLE_HD constexpr uint32_t source_port(uint32_t ports) { return (ports & 0xff) << 8 | (ports >> 8 & 0xff); }
HEDDLE_HD constexpr uint32_t destination_port(uint32_t ports) { return source_port(ports >> 16); }

}  // namespace heddle::classifier
