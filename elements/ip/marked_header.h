#pragma once

#include "core/packet.h"

namespace heddle {

/** The header that a column such as l3 marks: an offset from the packet's buffer. */
inline uint8_t* marked_header(Packet* packet, uint32_t offset) {
  return static_cast<uint8_t*>(packet->buf_addr) + offset;
}

/** Bytes of the packet from there to its end; 0 if that is no byte of the packet (0 marks none). */
inline uint32_t bytes_from(const Packet* packet, uint32_t offset) {
  const uint32_t at = offset - packet->data_off;  // huge if before the packet
  return at < length(packet) ? length(packet) - at : 0;
}
/** Whether these are `bytes` or more, which are more than 0. */
inline bool has_bytes_from(const Packet* packet, uint32_t offset, uint32_t bytes) {
  return uint64_t{offset - packet->data_off} + bytes <= length(packet);
}

}  // namespace heddle
