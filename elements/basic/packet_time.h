#pragma once

#include <cstdint>
#include <string>

#include "core/packet.h"

namespace heddle {

/** Gives a packet another time stamp than the one that it came with, nanoseconds since 1970. */
inline void set_time(Packet* packet, uint64_t timestamp_ns) {
  CaptureInfo info = has_capture_info(packet) ? capture_info(packet) : CaptureInfo{};
  info.timestamp_ns = timestamp_ns;
  packet->port = RTE_MBUF_PORT_INVALID;  // it has a time of its own now
  set_capture_info(packet, info);
}

/** Nanoseconds since 1970, less than 0 before that: the packet's time stamp, or, if it comes from a port and has none,
 *  `now_ns`. */
inline int64_t time_of(const Packet* packet, uint64_t now_ns) {
  return static_cast<int64_t>(has_capture_info(packet) ? capture_info(packet).timestamp_ns : now_ns);
}

/** Seconds with six digits behind the point, or, if these are not enough, nine: "1.500000". */
std::string time_text(int64_t ns);

}  // namespace heddle
