#pragma once

#include "elements/ip/marked_header.h"

namespace heddle {

/** Bytes that the packet had on the wire and a capture does not have. */
inline uint32_t missing_bytes(const Packet* packet) {
  return has_capture_info(packet) ? capture_info(packet).missing_bytes : 0;
}

/** Packets that it stands for, itself among them. */
inline uint64_t packets_in(const Packet* packet) {
  return uint64_t{1} + (has_capture_info(packet) ? capture_info(packet).more_packets : 0);
}

}  // namespace heddle
