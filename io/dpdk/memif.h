#pragma once

#include <cstdint>

namespace heddle::dpdk {

/** Makes bursts on a started net_memif port survive the process at its other end. DPDK's driver (22.11) unmaps and
 *  frees what it shares with a peer that goes from its own thread, while packet threads read and write there. A burst
 *  that meets a fault (SIGSEGV) in the driver ends with the packets that were done; the up to 32 that a receiving burst
 *  had begun are lost to the pool. A queue whose bursts fault again and again, because its peer is there but shares
 *  what makes no sense, is left alone from then on, and standard error says so.
 *
 *  Not caught: what the driver does to memory that something else has been given meanwhile, and zero-copy ports, for
 *  which this must not be called. Call it after each start of a port. Other faults are served as before. */
void survive_peer(uint16_t port);

}  // namespace heddle::dpdk
