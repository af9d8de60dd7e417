#include "functions/ip_lookup/route_file.h"

#include <arpa/inet.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/text_file.h"

namespace heddle::ip_lookup {
namespace {

/** A decimal number that is all of `text`, without sign or needless zeros. */
bool parse_number(std::string_view text, uint32_t& number) {
  if (text.size() > 1 && text[0] == '0') return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/** a.b.c.d, to host byte order; of which at least the first `least` numbers are there, the others being 0. */
bool parse_address(std::string_view text, uint32_t& address, int least = 4) {
  address = 0;
  for (int i = 0; i < 4; ++i) {
    const size_t dot = std::min(text.find('.'), text.size());
    uint32_t byte;
    if (!parse_number(text.substr(0, dot), byte) || byte > 255) return false;
    address |= byte << (24 - 8 * i);
    if (dot == text.size()) return i + 1 >= least;
    text.remove_prefix(dot + 1);
  }
  return false;  // a fifth number
}

bool parse_length(std::string_view text, uint8_t& length) {
  uint32_t value;
  if (parse_number(text, value)) {
    length = static_cast<uint8_t>(std::min(value, 33u));
    return value <= 32;
  }
  if (!parse_address(text, value)) return false;
  length = static_cast<uint8_t>(std::countl_one(value));
  return value == prefix_mask(length);
}

/** A name of AddressInfo: its address or, if it has none, its prefix. */
bool find_prefix(std::string_view name, const click::AddressNames& names, Route& route) {
  click::Ipv4Prefix prefix;
  click::Ipv4Address address;
  if (names.find(name, address))
    route.address = address.value, route.length = 32;
  else if (names.find(name, prefix))
    route.address = prefix.address, route.length = static_cast<uint8_t>(prefix.length);
  else
    return false;
  return true;
}

std::string parse_prefix(std::string_view text, const click::AddressNames& names, Route& route) {
  if (text == "default" || text == "0/0") text = "0.0.0.0/0";
  const size_t slash = text.find('/');
  if (!parse_address(text.substr(0, slash), route.address, slash == text.npos ? 4 : 1)) {
    if (find_prefix(text, names, route)) return "";
    if (std::ranges::count(text, ':') > 1) return in_quotes(text) + " looks like IPv6, and this table holds IPv4 only";
    return in_quotes(text) + " is not an IPv4 prefix such as 192.0.2.0/24";
  }
  route.length = 32;
  if (slash != text.npos && !parse_length(text.substr(slash + 1), route.length))
    return in_quotes(text.substr(slash + 1)) + " is not a prefix length of 0 to 32 nor a mask such as 255.255.255.0";
  const auto numbers = std::ranges::count(text.substr(0, slash), '.') + 1;
  if (route.length > 8 * numbers)
    return in_quotes(text) +
           format(" has %d of the %d numbers that its length needs", static_cast<int>(numbers), (route.length + 7) / 8);
  route = normalised(route);
  return "";
}

}  // namespace

std::string parse_route(std::string_view text, Route& route, const click::AddressNames& names) {
  const std::string_view prefix = take_word(text);
  std::string_view gateway = "-", port = take_word(text);
  if (const std::string_view third = take_word(text); !third.empty()) gateway = std::exchange(port, third);
  if (port.empty()) return "expected PREFIX [GATEWAY] PORT";
  if (const std::string_view extra = take_word(text); !extra.empty()) {
    uint8_t length = 0;
    const bool is_mask = gateway.find('.') != gateway.npos && parse_length(gateway, length);
    return in_quotes(extra) + " is left over after PREFIX GATEWAY PORT" +
           (is_mask ? "; a mask is written behind a slash: " + std::string(prefix) + "/" + std::string(gateway) : "");
  }

  if (std::string reason = parse_prefix(prefix, names, route); !reason.empty()) return reason;
  click::Ipv4Address address;
  if (gateway != "-" && !parse_address(gateway, address.value) && !names.find(gateway, address))
    return in_quotes(gateway) + " is not the IPv4 address of a gateway";
  route.hop.gateway = htonl(address.value);
  if (!parse_number(port, route.hop.port)) return in_quotes(port) + " is not a port number of 0 to 4294967295";
  return "";
}

std::vector<Route> read_route_file(const std::string& path, std::vector<std::string>& errors, uint64_t outputs) {
  std::vector<Route> routes;
  read_lines(path, read_text_file(path, "route file"), "#;", errors, [&](std::string_view line) -> std::string {
    Route route;
    if (const std::string reason = parse_route(line, route); !reason.empty())
      return in_quotes(line) + " is not a route: " + reason;
    if (route.hop.port >= outputs)
      return format("route %u.%u.%u.%u/%d: output %u is not connected (outputs are 0 to %d)", route.address >> 24,
                    route.address >> 16 & 255, route.address >> 8 & 255, route.address & 255, route.length,
                    route.hop.port, static_cast<int>(outputs) - 1);
    routes.push_back(route);
    return "";
  });
  return routes;
}

}  // namespace heddle::ip_lookup
