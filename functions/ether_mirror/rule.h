#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::ether_mirror {

/** The first twelve bytes of an Ethernet frame (destination, source; IEEE 802.3, 3.2) as three words in memory order.
 */
struct Addresses {
  uint32_t word[3];
};

/** Destination and source swapped. For little-endian processors. */
HEDDLE_HD inline Addresses mirrored(Addresses a) {
  return {{a.word[1] >> 16 | a.word[2] << 16, a.word[2] >> 16 | a.word[0] << 16, a.word[0] >> 16 | a.word[1] << 16}};
}

/** Shorter frames have no addresses. */
constexpr uint32_t kLeastBytes = 12;
enum Reason : int { kShort };

}  // namespace heddle::ether_mirror
