#pragma once

#include "core/packet.h"
#include "io/dpdk/dpdk.h"

/** What is to be looked at in frames that come from ports and go to them. */
namespace heddle::dpdk {

/** Whether the lengths that a driver has written are those of bytes that the packet's buffers have. */
inline bool has_its_bytes(const Packet* packet) {
  uint64_t bytes = 0;
  for (const Packet* part = packet; part != nullptr; part = part->next) {
    if (uint32_t{part->data_off} + part->data_len > part->buf_len) return false;
    bytes += part->data_len;
  }
  return bytes == packet->pkt_len;
}

/** Whether a port that sends frames of up to `longest` bytes, without a VLAN tag, does not take this one. */
inline bool is_too_long(const Packet* packet, uint32_t longest) {
  constexpr uint32_t kTagBytes = 4;
  const uint32_t bytes = length(packet);
  if (bytes <= longest) [[likely]]
    return false;
  const bool tagged = data(packet)[12] == 0x81 && data(packet)[13] == 0x00;
  return !tagged || bytes > longest + kTagBytes;
}

}  // namespace heddle::dpdk
