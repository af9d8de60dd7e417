#pragma once

#include <arpa/inet.h>

#include <algorithm>

#include "core/checksum.h"
#include "elements/ip/marked_header.h"

namespace heddle {

/** The IPv4 header that a packet has at annotation l3, or none (`at` null): fewer than 20 bytes, or fewer than it
 *  says. */
struct Ip4Header {
  uint8_t* at = nullptr;
  uint32_t bytes = 0;  ///< its length, options included
  uint32_t room = 0;   ///< bytes of the packet from its start on

  explicit operator bool() const { return at != nullptr; }
  uint32_t total() const { return ntohs(load_u16(at + 2)); }  ///< as it says
  uint32_t payload() const {
    return std::max(std::min(total(), room), bytes) - bytes;
  }  ///< bytes behind it that are there
  uint8_t* behind() const { return at + bytes; }
  uint32_t source() const { return load_u32(at + 12); }  ///< network byte order
  uint32_t destination() const { return load_u32(at + 16); }
  bool first_fragment() const { return (load_u16(at + 6) & htons(0x1fff)) == 0; }
  bool fragment() const { return (load_u16(at + 6) & htons(0x3fff)) != 0; }
};

inline Ip4Header ip4_header(Packet* packet, uint32_t l3) {
  const uint32_t room = bytes_from(packet, l3);
  if (room < 20) return {};
  uint8_t* at = marked_header(packet, l3);
  const uint32_t bytes = (at[0] & 15u) * 4;
  if (bytes < 20 || bytes > room) return {};
  return {at, bytes, room};
}

inline void set_ip4_header_checksum(uint8_t* header, uint32_t bytes) {
  store_u16(header + 10, 0);
  store_u16(header + 10, ip4_checksum(header, bytes));
}

/** Changes of words that checksums cover, all in memory order: RFC 1624, equation 3. */
class ChecksumChange {
 public:
  void add(uint32_t before, uint32_t after) {
    sum_ += (~before & 0xffff) + (~before >> 16) + (after & 0xffff) + (after >> 16);
  }
  /** Whether there is any that is to be seen in a checksum. */
  explicit operator bool() const { return sum_ != 0; }
  uint16_t applied_to(uint16_t checksum) const {
    uint32_t sum = (~checksum & 0xffffu) + sum_;
    sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~(sum + (sum >> 16)));
  }

 private:
  uint32_t sum_ = 0;
};

/** A checksum after a word of what it covers has changed. */
inline uint16_t updated_checksum(uint16_t checksum, uint32_t before, uint32_t after) {
  ChecksumChange change;
  change.add(before, after);
  return change.applied_to(checksum);
}

/** Gives the field at `field`, 2 or 4 bytes, a value in memory order and corrects the checksum at `checksum`. */
inline void rewrite_u16(uint8_t* field, uint16_t value, uint8_t* checksum) {
  store_u16(checksum, updated_checksum(load_u16(checksum), load_u16(field), value));
  store_u16(field, value);
}
inline void rewrite_u32(uint8_t* field, uint32_t value, uint8_t* checksum) {
  store_u16(checksum, updated_checksum(load_u16(checksum), load_u32(field), value));
  store_u32(field, value);
}

}  // namespace heddle
