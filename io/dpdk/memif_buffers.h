#pragma once

#include <cstdint>

namespace heddle::dpdk {

/** Bytes of the buffers that memif's client makes where Heddle is the client and nobody says otherwise. DPDK's driver
 *  (22.11) puts a longer frame into several buffers and leaves their marks behind, which then join other frames: so
 *  frames must fit. */
constexpr uint32_t kMemifBufferBytes = 10240;
/** The driver's own default, of clients that say nothing. */
constexpr uint32_t kMemifDefaultBufferBytes = 2048;

/** Bytes of the smallest buffers that this program shares with another over memif (of all its ports, whoever made
 *  them), 0 = none are found. Looks at the first ring of each memory file that is mapped here and begins with memif's
 *  cookie. */
uint32_t smallest_memif_buffer();

}  // namespace heddle::dpdk
