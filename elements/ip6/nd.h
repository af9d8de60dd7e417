#pragma once

#include "click/values.h"
#include "elements/ip6/gateways.h"

namespace heddle::nd {

/** Neighbour solicitations and advertisements in Ethernet frames (RFC 4861, 4.3, 4.4). */
constexpr uint8_t kSolicitation = 135, kAdvertisement = 136;
constexpr uint8_t kRouter = 0x80, kSolicited = 0x40, kOverride = 0x20;  // flags of an advertisement
constexpr uint32_t kFrameBytes = 86;                                    ///< as written here: with an Ethernet address

struct Message {
  Ip6 source{}, destination{}, target{};
  uint8_t flags = 0;                                ///< of an advertisement
  click::EthernetAddress from{}, to{}, ethernet{};  ///< of the frame, and what the option says (source's or target's)
  bool has_ethernet = false;
};

/** Reads a message of `type`. False if it is none, or one that RFC 4861, 7.1 has ignored. */
bool read(const uint8_t* frame, uint32_t bytes, uint8_t type, Message& message);

/** Writes one of kFrameBytes, with hop limit 255, all that `message` says, and the checksum. */
void write(uint8_t* frame, uint8_t type, const Message& message);

/** The group that an address's owner listens to (RFC 4291, 2.7.1), and a group's Ethernet address (RFC 2464, 7). */
Ip6 solicited_node(const Ip6& address);
click::EthernetAddress group_ethernet(const Ip6& group);
inline bool is_group(const Ip6& address) { return address[0] == 0xff; }

/** Throws Error if `text` is none. */
Ip6 parse_address(const std::string& text);
std::string to_text(const Ip6& address);

}  // namespace heddle::nd
