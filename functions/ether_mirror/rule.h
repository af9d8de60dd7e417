#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::ether_mirror {

/** The first twelve bytes of an Ethernet frame (destination, source; IEEE 802.3, 3.2), in memory order. */
struct Addresses {
  uint64_t first_eight;
  uint32_t last_four;
};

/** Destination and source swapped. For little-endian processors. */
HEDDLE_HD inline Addresses mirrored(Addresses a) {
  return {a.first_eight >> 48 | uint64_t{a.last_four} << 16 | a.first_eight << 48,
          static_cast<uint32_t>(a.first_eight >> 16)};
}

/** Shorter frames have no addresses. */
constexpr uint32_t kLeastBytes = 12;
enum Reason : int { kShort };

}  // namespace heddle::ether_mirror
