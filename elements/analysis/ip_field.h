#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "elements/ip/header.h"

namespace heddle {

/** Up to 32 bits of an IPv4 header, of the transport header or the payload behind it, in Click's language: "ip src/8",
 *  "tcp dport", "ip[8:2] & 0x3F0", "data{0-3}". An argument type. */
struct IPField {
  enum class Header : uint8_t { ip, transport, payload };
  Header header = Header::ip;
  int protocol = 0;                 ///< of a transport header: its number, or kTcpOrUdp or kAnyTransport
  uint32_t offset = 0, length = 0;  ///< bits, from the header's start on
  std::string problem{};            ///< why parse() has failed

  /** The bits' value; false if the packet does not have them all. Reads nothing outside the packet. */
  bool read(const Ip4Header& ip, uint32_t& value) const;
  /** "ip", "tcp", "transp", "payload", ...: the header's name. */
  std::string header_name() const;
  /** In the same language. */
  std::string text() const;
};

/** False, with `problem`: the text is no such field. */
bool parse(std::string_view text, IPField& field);
std::string expectation(const IPField& field);

}  // namespace heddle
