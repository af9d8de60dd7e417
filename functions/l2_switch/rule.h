#pragma once

#include "functions/cuckoo/rule.h"

namespace heddle::l2_switch {

/** The value of an entry: the port + 1 in the lower 12 bits; above, when its address was last seen: 0 for entries that
 *  stay, else 1 to kTicks, which come round. */
constexpr uint32_t kPortBits = 12, kMaxPorts = (1 << kPortBits) - 2, kTicks = 15;

HEDDLE_HD constexpr uint32_t port_of(uint64_t word) {
  return static_cast<uint32_t>(word >> cuckoo::kValueShift & ((1 << kPortBits) - 1)) - 1;
}
HEDDLE_HD constexpr uint32_t tick_of(uint64_t word) {
  return static_cast<uint32_t>(word >> (cuckoo::kValueShift + kPortBits));
}
constexpr uint16_t value_of(uint32_t port, uint32_t tick) {
  return static_cast<uint16_t>((port + 1) | tick << kPortBits);
}

/** Whether what is known of a source address, `word` (0: nothing), is not what its packet that came in by `port` at
 *  `tick` says. Entries that stay know better. */
HEDDLE_HD constexpr bool is_news(uint64_t word, uint32_t port, uint32_t tick) {
  return word == 0 || (tick_of(word) != 0 && (tick_of(word) != tick || port_of(word) != port));
}

/** What GPUs find in Image::owner: the number of ports; the tick that it is, 0 if nothing is learned; and the round of
 *  news, 1 to kRounds, which come round. */
constexpr uint32_t kTickBits = 4, kRounds = 0xffff;
constexpr uint32_t owner_of(uint32_t ports, uint32_t tick, uint32_t round) {
  return ports | tick << kPortBits | round << (kPortBits + kTickBits);
}
HEDDLE_HD constexpr uint32_t ports_in(uint32_t owner) { return owner & ((1 << kPortBits) - 1); }
HEDDLE_HD constexpr uint32_t tick_in(uint32_t owner) { return owner >> kPortBits & ((1 << kTickBits) - 1); }
HEDDLE_HD constexpr uint32_t round_in(uint32_t owner) { return owner >> (kPortBits + kTickBits); }

/** An Ethernet address as a key: its first byte highest. */
HEDDLE_HD constexpr bool is_group(uint64_t address) { return (address >> 40 & 1) != 0; }

/** Whether a bridge keeps frames to it to the port by which they came, 01:80:c2:00:00:00 to 0f: spanning tree, pause,
 *  LACP, LLDP. IEEE 802.1Q, 8.6.3. */
HEDDLE_HD constexpr bool is_reserved(uint64_t address) { return address >> 4 == 0x0180c200000; }

enum Reason : int { kShort, kSamePort, kReserved };
constexpr uint32_t kHeaderBytes = 14;
constexpr uint32_t kStays = ~0u;  ///< of output_of(): the destination is where the packet comes from

/** The output of a packet that came in by port `from`. `word`: the entry of its destination, 0 if there is none or it
 *  is a group address; `ports`: number of ports, and of the output for floods. IEEE 802.1Q, 8.6. */
HEDDLE_HD constexpr uint32_t output_of(uint64_t word, uint32_t from, uint32_t ports) {
  if (word == 0) return ports;
  return port_of(word) == from ? kStays : port_of(word);
}

}  // namespace heddle::l2_switch
