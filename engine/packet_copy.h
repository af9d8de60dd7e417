#pragma once

#include "core/packet.h"
#include "core/packet_pool.h"

namespace heddle {

/** The pools that copies come from: `large` for those that do not fit into `normal`. */
struct CopyPools {
  PacketPool* normal;
  PacketPool* large;
};

/** Longest buffer, the headroom included. */
constexpr uint32_t kMaxBufferBytes = 65535;

/** A copy of `packet` that begins `shift` bytes further on in its buffer, with room for `appends` bytes behind it: its
 *  bytes, those that Strip has removed (Unstrip may want them), and what a capture says of it. Null if no packet is
 *  free. `shift` + start + length + `appends` are at most kMaxBufferBytes. */
Packet* copy_packet(const Packet* packet, uint32_t shift, uint32_t appends, const CopyPools& pools);

}  // namespace heddle
