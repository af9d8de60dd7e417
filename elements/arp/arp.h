#pragma once

#include <arpa/inet.h>

#include <cstdint>
#include <cstring>

#include "core/load.h"

namespace heddle::arp {

/** An ARP message for IPv4 over Ethernet with the frame's header before it (RFC 826); all in network byte order. */
constexpr uint32_t kFrameBytes = 42;  ///< 14 of Ethernet, 28 of ARP; senders pad to 60
constexpr uint16_t kRequest = 1, kReply = 2;
constexpr uint16_t kEtherTypeArp = 0x0806, kEtherTypeIp = 0x0800;

/** Whether a frame of `bytes` is such a message. */
inline bool is_arp(const uint8_t* frame, uint32_t bytes) {
  static constexpr uint8_t kStart[8] = {0x08, 0x06, 0, 1, 8, 0, 6, 4};
  return bytes >= kFrameBytes && std::memcmp(frame + 12, kStart, sizeof kStart) == 0;
}
inline uint16_t operation(const uint8_t* frame) { return ntohs(load_u16(frame + 20)); }
inline const uint8_t* sender_ethernet(const uint8_t* frame) { return frame + 22; }
inline uint32_t sender_ip(const uint8_t* frame) { return load_u32(frame + 28); }
inline uint32_t target_ip(const uint8_t* frame) { return load_u32(frame + 38); }

/** Writes a message of kFrameBytes. Ethernet addresses: 6 bytes; `target_ethernet` is also the frame's destination, but
 *  for a request, which goes to everybody and has zeros there. */
inline void write(uint8_t* frame, uint16_t operation, const uint8_t* sender_ethernet, uint32_t sender_ip,
                  const uint8_t* target_ethernet, uint32_t target_ip) {
  static constexpr uint8_t kStart[8] = {0x08, 0x06, 0, 1, 8, 0, 6, 4};
  uint8_t target[6] = {}, to[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  if (operation != kRequest) {
    std::memcpy(target, target_ethernet, 6);
    std::memcpy(to, target_ethernet, 6);
  }
  std::memcpy(frame, to, 6);
  std::memcpy(frame + 6, sender_ethernet, 6);
  std::memcpy(frame + 12, kStart, sizeof kStart);
  store_u16(frame + 20, htons(operation));
  std::memcpy(frame + 22, sender_ethernet, 6);
  store_u32(frame + 28, sender_ip);
  std::memcpy(frame + 32, target, 6);
  store_u32(frame + 38, target_ip);
}

}  // namespace heddle::arp
