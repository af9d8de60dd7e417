#include "elements/ip6/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <sstream>

namespace heddle {

bool parse(std::string_view text, Ip6Argument& value) {
  return inet_pton(AF_INET6, std::string(text).c_str(), value.address.data()) == 1;
}
std::string expectation(const Ip6Argument&) { return "an IPv6 address, such as 2001:db8::1"; }

bool Ip6Arguments::contain(const uint8_t* address) const {
  return std::ranges::any_of(list, [&](const Ip6& each) { return std::equal(each.begin(), each.end(), address); });
}

std::string to_text(const Ip6& address) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, address.data(), text, sizeof text);
}

bool parse(std::string_view text, Ip6Arguments& value) {
  Ip6Arguments result;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;)
    if (inet_pton(AF_INET6, word.c_str(), result.list.emplace_back().data()) != 1) return false;
  value = std::move(result);
  return true;
}
std::string expectation(const Ip6Arguments&) { return "IPv6 addresses, such as 2001:db8::1, and spaces between"; }

}  // namespace heddle
