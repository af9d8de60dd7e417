#pragma once

#include "functions/cuckoo/rule.h"

namespace heddle::l2_switch {

/** The value of an entry: the port + 1 in the lower 12 bits; above, when its address was last seen: 0 for entries that stay, else
 *  1 to kTicks, which come round. */
constexpr uint32_t kPortBits = 12, kMostPorts = (1 << kPortBits) - 2, kTicks = 15;

HEDDLE_HD constexpr uint32_t port_of(uint64_t word) {
  return static_cast<uint32_t>(word >> cuckoo::kValueShift & ((1 << kPortBits) - 1)) - 1;
}
HEDDLE_HD constexpr uint32_t tick_of(uint64_t word) {
  return static_cast<uint32_t>(word >> (cuckoo::kValueShift + kPortBits));
}
constexpr uint16_t value_of(uint32_t port, uint32_t tick) {
  return static_cast<uint16_t>((port + 1) | tick << kPortBits);
}

/** An Ethernet address as a key: its first byte highest. */
HEDDLE_HD constexpr bool is_group(uint64_t address) { return (address >> 40 & 1) != 0; }

enum Reason : int { kShort, kSamePort };
constexpr uint32_t kHeaderBytes = 14;
constexpr uint32_t kStays = ~0u;  ///< of output_of(): the destination is where the packet comes from

/** The output of a packet that came in by port `from`. `word`: the entry of its destination, 0 if there is none or it is a
 *  group address; `ports`: number of ports, and of the output for floods. IEEE 802.1Q, 8.6. */
HEDDLE_HD constexpr uint32_t output_of(uint64_t word, uint32_t from, uint32_t ports) {
  if (word == 0) return ports;
  return port_of(word) == from ? kStays : port_of(word);
}

}  // namespace heddle::l2_switch
