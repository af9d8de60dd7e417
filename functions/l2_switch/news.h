#pragma once

#include "functions/cuckoo/rule.h"
#include "gpu/events.h"

namespace heddle::l2_switch {

/** What a GPU has to tell the host of source addresses: that one is unknown, has moved, or is heard of again. An
 *  address has a place among those that are unknown and one among those that are known, so a flood of new ones leaves
 *  the others theirs; what has been told of a place is the last thing in a round. When the host has heard it all it
 *  begins the next round, so the ring has room for all that is told between, and what was not heard, or not learned, is
 *  told again. */
struct News {
  static constexpr uint32_t kPlaces = 1024;            // of either kind
  using Ring = gpu::EventRing<uint64_t, 4 * kPlaces>;  // the address, and the port above it; of two rounds

  Ring ring;
  uint32_t told[2][kPlaces];  // the last round in which something was; [address is known][hash]
};

HEDDLE_HD constexpr uint64_t news_of(uint64_t address, uint32_t port) {
  return address | uint64_t{port} << cuckoo::kValueShift;
}
constexpr uint64_t address_in(uint64_t news) { return news & cuckoo::kKeyMask; }
constexpr uint32_t port_in(uint64_t news) { return static_cast<uint32_t>(news >> cuckoo::kValueShift); }

}  // namespace heddle::l2_switch
