#pragma once

#include <rte_mbuf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heddle {

/** A packet is one `rte_mbuf`: NICs, virtual devices, captures and GPU segments all speak it, so nothing is converted.
 *  Its data is one contiguous piece, [data(p), data(p) + length(p)): ports that receive chained mbufs linearise them.
 */
using Packet = rte_mbuf;

inline uint8_t* data(Packet* packet) { return rte_pktmbuf_mtod(packet, uint8_t*); }
inline const uint8_t* data(const Packet* packet) { return rte_pktmbuf_mtod(packet, const uint8_t*); }
inline uint32_t length(const Packet* packet) { return packet->data_len; }

/** Longest packet. An mbuf counts its bytes in 16 bits, so a longer frame (only found in captures of offloaded traffic)
 *  is refused at the source with a named reason. */
constexpr uint32_t kMaxPacketBytes = 65535 - 128;

/** Moves the packet's start by `bytes` (> 0 removes bytes, < 0 takes back what lies before). Caller checks the room. */
inline void move_head(Packet* packet, int bytes) {
  packet->data_off = static_cast<uint16_t>(packet->data_off + bytes);
  packet->data_len = static_cast<uint16_t>(packet->data_len - bytes);
  packet->pkt_len -= static_cast<uint32_t>(bytes);
}

/** Moves the packet's end by `bytes` (> 0 appends bytes, < 0 removes them). Caller checks the room. */
inline void move_tail(Packet* packet, int bytes) {
  packet->data_len = static_cast<uint16_t>(packet->data_len + bytes);
  packet->pkt_len += static_cast<uint32_t>(bytes);
}

/** Whether other packets share this packet's bytes (Tee): such bytes are copied before they are written. */
inline bool is_shared(const Packet* packet) {
  return RTE_MBUF_CLONED(packet) || (rte_mbuf_refcnt_read(packet) > 1) ||
         (RTE_MBUF_HAS_EXTBUF(packet) && rte_mbuf_ext_refcnt_read(packet->shinfo) > 1);
}

/** What a capture file says of a packet beside its bytes. Kept in the mbuf's dynamic fields, and copied with them. */
struct CaptureInfo {
  uint64_t timestamp_ns;      ///< since 1970-01-01 UTC
  uint32_t missing_bytes;     ///< bytes of the packet on the wire that the capture does not have
  uint32_t more_packets = 0;  ///< that it stands for beside itself, where a dump has a line for several
};

/** Where CaptureInfo lies in an mbuf. io/dpdk moves it when EAL is there, whose drivers may want dynamic fields, too.
 */
inline size_t capture_info_offset = offsetof(rte_mbuf, dynfield1);

/** Valid for packets that come from no port: ports do not write it. */
inline bool has_capture_info(const Packet* packet) { return packet->port == RTE_MBUF_PORT_INVALID; }
inline CaptureInfo capture_info(const Packet* packet) {
  CaptureInfo info;
  std::memcpy(&info, reinterpret_cast<const char*>(packet) + capture_info_offset, sizeof info);
  return info;
}
inline void set_capture_info(Packet* packet, CaptureInfo info) {
  std::memcpy(reinterpret_cast<char*>(packet) + capture_info_offset, &info, sizeof info);
}

}  // namespace heddle
