#include "elements/ip6/nd.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/load.h"
#include "elements/ip6/header.h"
#include "elements/ip6/icmp6.h"

namespace heddle::nd {
namespace {

constexpr uint32_t kIp = 14, kIcmp = kIp + kIp6HeaderBytes, kTarget = kIcmp + 8, kOptions = kTarget + 16;
constexpr uint8_t kHopLimit = 255, kSourceOption = 1, kTargetOption = 2;
constexpr Ip6 kSolicitedNode = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};

uint8_t option_of(uint8_t type) { return type == kSolicitation ? kSourceOption : kTargetOption; }

/** The Ethernet address among the options; false if they are not options. */
bool read_options(const uint8_t* at, const uint8_t* end, uint8_t wanted, Message& message) {
  while (at < end) {
    if (end - at < 8 || at[1] == 0 || end - at < at[1] * 8) return false;
    if (at[0] == wanted && at[1] == 1) {
      std::memcpy(message.ethernet.bytes.data(), at + 2, 6);
      message.has_ethernet = true;
    }
    at += at[1] * 8;
  }
  return true;
}

}  // namespace

bool read(const uint8_t* frame, uint32_t bytes, uint8_t type, Message& message) {
  if (bytes < kOptions || load_u16(frame + 12) != htons(0x86dd) || frame[kIp] >> 4 != 6 || frame[kIp + 6] != kIcmp6 ||
      frame[kIp + 7] != kHopLimit || frame[kIcmp] != type || frame[kIcmp + 1] != 0)
    return false;
  const uint32_t payload = ntohs(load_u16(frame + kIp + 4));
  if (payload < kOptions - kIcmp || payload > bytes - kIcmp || icmp6_checksum(frame + kIp, payload) != 0) return false;
  message = {};
  std::memcpy(message.to.bytes.data(), frame, 6);
  std::memcpy(message.from.bytes.data(), frame + 6, 6);
  std::memcpy(message.source.data(), frame + kIp + 8, 16);
  std::memcpy(message.destination.data(), frame + kIp + 24, 16);
  std::memcpy(message.target.data(), frame + kTarget, 16);
  message.flags = type == kAdvertisement ? frame[kIcmp + 4] : 0;
  if (is_group(message.target) || !read_options(frame + kOptions, frame + kIcmp + payload, option_of(type), message))
    return false;
  if (type == kAdvertisement) return !is_group(message.destination) || (message.flags & kSolicited) == 0;
  return message.source != Ip6{} ||
         (!message.has_ethernet &&
          std::equal(kSolicitedNode.begin(), kSolicitedNode.begin() + 13, message.destination.begin()));
}

void write(uint8_t* frame, uint8_t type, const Message& message) {
  std::memset(frame, 0, kFrameBytes);
  std::memcpy(frame, message.to.bytes.data(), 6);
  std::memcpy(frame + 6, message.from.bytes.data(), 6);
  store_u16(frame + 12, htons(0x86dd));
  frame[kIp] = 0x60;
  store_u16(frame + kIp + 4, htons(kFrameBytes - kIcmp));
  frame[kIp + 6] = kIcmp6, frame[kIp + 7] = kHopLimit;
  std::memcpy(frame + kIp + 8, message.source.data(), 16);
  std::memcpy(frame + kIp + 24, message.destination.data(), 16);
  frame[kIcmp] = type, frame[kIcmp + 4] = message.flags;
  std::memcpy(frame + kTarget, message.target.data(), 16);
  frame[kOptions] = option_of(type), frame[kOptions + 1] = 1;
  std::memcpy(frame + kOptions + 2, message.ethernet.bytes.data(), 6);
  store_u16(frame + kIcmp + 2, htons(static_cast<uint16_t>(icmp6_checksum(frame + kIp, kFrameBytes - kIcmp))));
}

Ip6 solicited_node(const Ip6& address) {
  Ip6 group = kSolicitedNode;
  std::copy(address.begin() + 13, address.end(), group.begin() + 13);
  return group;
}

click::EthernetAddress group_ethernet(const Ip6& group) {
  return {{0x33, 0x33, group[12], group[13], group[14], group[15]}};
}

Ip6 parse_address(const std::string& text) {
  Ip6 address;
  if (inet_pton(AF_INET6, text.c_str(), address.data()) != 1)
    throw Error("'" + text.substr(0, 80) + "' is not an IPv6 address such as 2001:db8::1");
  return address;
}

std::string to_text(const Ip6& address) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, address.data(), text, sizeof text);
}

}  // namespace heddle::nd
