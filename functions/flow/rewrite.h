#pragma once

#include <cstdint>

#include "core/load.h"
#include "core/macros.h"

namespace heddle::flow {

/** A checksum when a 16-bit word that it covers changes; all in memory order (RFC 1624, equation 3). */
HEDDLE_HD constexpr uint16_t updated_checksum(uint16_t checksum, uint16_t before, uint16_t after) {
  uint32_t sum = static_cast<uint16_t>(~checksum) + uint32_t{static_cast<uint16_t>(~before)} + after;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

/** The same of two words that follow each other. */
HEDDLE_HD constexpr uint16_t checksum_after(uint16_t checksum, uint32_t before, uint32_t after) {
  checksum = updated_checksum(checksum, static_cast<uint16_t>(before), static_cast<uint16_t>(after));
  return updated_checksum(checksum, static_cast<uint16_t>(before >> 16), static_cast<uint16_t>(after >> 16));
}

constexpr uint32_t kTcp = 6, kUdp = 17;

/** That of TCP or UDP when an address changes; 0, that is UDP without one, stays. */
HEDDLE_HD constexpr uint16_t transport_checksum_after(uint32_t protocol, uint16_t checksum, uint32_t before,
                                                      uint32_t after) {
  if (protocol != kUdp) return checksum_after(checksum, before, after);
  if (checksum == 0) return 0;
  checksum = checksum_after(checksum, before, after);
  return checksum != 0 ? checksum : 0xffff;  // 0 would say that there is none (RFC 768)
}

/** Bytes of a whole header of TCP or UDP, more than any packet has for other protocols; and where its checksum is. */
HEDDLE_HD constexpr uint32_t transport_bytes(uint32_t protocol) {
  return protocol == kTcp ? 20 : protocol == kUdp ? 8 : UINT32_MAX;
}
HEDDLE_HD constexpr uint32_t transport_checksum_at(uint32_t protocol) { return protocol == kTcp ? 16 : 6; }

inline void update_checksum(uint8_t* at, uint32_t before, uint32_t after) {
  store_u16(at, checksum_after(load_u16(at), before, after));
}

/** An IPv4 packet whose header is at `l3`, and the transport header, if it has a whole one, at `l4`; else that is
 *  null. */
struct Headers {
  uint8_t *l3, *l4;

  /** The checksum of TCP or UDP, if there is one: UDP may have none (0). */
  uint8_t* transport_checksum() const {
    if (l4 == nullptr) return nullptr;
    uint8_t* const at = l4 + transport_checksum_at(l3[9]);
    return l3[9] == kUdp && load_u16(at) == 0 ? nullptr : at;
  }
  /** Changes an address of the IPv4 header, byte 12 or 16, and the checksums that cover it. */
  void set_address(uint32_t offset, uint32_t address) const {
    const uint32_t before = load_u32(l3 + offset);
    store_u32(l3 + offset, address);
    update_checksum(l3 + 10, before, address);
    if (uint8_t* at = transport_checksum()) update_transport(at, before, address);
  }
  /** Changes a port, byte 0 or 2 of the transport header. */
  void set_port(uint32_t offset, uint16_t port) const {
    uint8_t* const checksum = transport_checksum();
    const uint16_t before = load_u16(l4 + offset);
    store_u16(l4 + offset, port);
    if (checksum != nullptr) update_transport(checksum, before, port);
  }

 private:
  void update_transport(uint8_t* at, uint32_t before, uint32_t after) const {
    store_u16(at, transport_checksum_after(l3[9], load_u16(at), before, after));
  }
};

/** The headers of a packet [frame, frame + bytes), by offset. False if there is no whole IPv4 header. */
inline bool headers_at(uint8_t* frame, uint32_t bytes, uint32_t network, uint32_t transport, Headers& headers) {
  if (network > bytes || bytes - network < 20) return false;
  uint8_t* const l3 = frame + network;
  const bool later = (l3[6] & 0x1f) != 0 || l3[7] != 0;
  const bool whole = !later && transport <= bytes && bytes - transport >= transport_bytes(l3[9]);
  headers = {l3, whole ? frame + transport : nullptr};
  return true;
}

}  // namespace heddle::flow
