#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::ether_mirror {

/** The first twelve bytes of an Ethernet frame (destination, source; IEEE 802.3, 3.2), in memory order, as two words
 *  that overlap: bytes 0 to 7 and bytes 4 to 11. */
struct Addresses {
  uint64_t from_0, from_4;
};

/** Destination and source swapped. For little-endian processors. */
HEDDLE_HD inline Addresses mirrored(Addresses a) {
  return {a.from_4 >> 16 | a.from_0 << 48, a.from_4 >> 48 | a.from_0 << 16};
}

/** Shorter frames have no addresses. */
constexpr uint32_t kMinBytes = 12;
enum Reason : int { kShort };

}  // namespace heddle::ether_mirror
