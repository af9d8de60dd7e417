#pragma once

#include <cstdint>

namespace heddle::dpdk {

/** Makes bursts on a started net_memif port end well when the process at its other end goes. DPDK's driver (22.11) unmaps and
 *  frees what it shares with a peer from its own thread, while packet threads read and write there: such a burst then ends at
 *  the fault, with the packets that were done. Those that a receiving burst had begun, 32 at most, are lost to the pool. For
 *  ports without zero-copy; once for each start of a port. Other faults remain what they were. */
void survive_leaving_peer(uint16_t port);

}  // namespace heddle::dpdk
