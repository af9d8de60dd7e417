#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elements/ip6/gateways.h"

namespace heddle {

/** Arguments: an IPv6 address, and several with spaces between. */
struct Ip6Argument {
  Ip6 address{};
};
bool parse(std::string_view text, Ip6Argument& value);
std::string expectation(const Ip6Argument&);

std::string to_text(const Ip6& address);  ///< 2001:db8::1

struct Ip6Arguments {
  std::vector<Ip6> list;
  /** Whether the 16 bytes at `address` are one of them. */
  bool contain(const uint8_t* address) const;
};
bool parse(std::string_view text, Ip6Arguments& value);
std::string expectation(const Ip6Arguments&);

}  // namespace heddle
