#pragma once

#include "gpu/rings.h"

namespace heddle::gpu {

/** What a launch of the rings' kernel serves: block b pairs[b], until controls[b] says stop. */
struct RingServing {
  const RingPair* pairs;   ///< [blocks], pinned
  RingControl* controls;   ///< [blocks], pinned
  const Program* program;  ///< device memory; exit 0 is the transmitting ring
  RingCount* drops;        ///< [exits], device memory, see gpu/rings.h
  uint16_t exits;
  uint16_t first_node;    ///< where packets enter the program
  uint16_t last_node;     ///< that counts what is transmitted
  uint32_t memory_units;  ///< dynamic shared memory of a warp, in 16 bytes
};

}  // namespace heddle::gpu
