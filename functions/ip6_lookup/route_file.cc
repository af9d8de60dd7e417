#include "functions/ip6_lookup/route_file.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/error.h"
#include "core/load.h"
#include "core/text_file.h"

namespace heddle::ip6_lookup {
namespace {

/** A decimal number that is all of `text`. */
bool parse_number(std::string_view text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool parse_address(std::string_view text, Address& address) {
  uint8_t bytes[16];
  if (text.size() >= INET6_ADDRSTRLEN || inet_pton(AF_INET6, std::string(text).c_str(), bytes) != 1) return false;
  address = {__builtin_bswap64(load_u64(bytes)), __builtin_bswap64(load_u64(bytes + 8))};
  return true;
}

std::string to_text(Address address) {
  const uint64_t bytes[2] = {__builtin_bswap64(address.high), __builtin_bswap64(address.low)};
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, bytes, text, sizeof text);
}

std::string to_text(const Prefix& prefix) { return to_text(prefix.address) + "/" + std::to_string(prefix.length); }

std::string parse_prefix(std::string_view text, Prefix& prefix) {
  if (text == "default") text = "::/0";
  const size_t slash = text.find('/');
  Address address;
  if (!parse_address(text.substr(0, slash), address))
    return in_quotes(text) + " is not an IPv6 prefix such as 2001:db8::/32";
  uint32_t length = 128;
  if (slash != text.npos && (!parse_number(text.substr(slash + 1), length) || length > 128))
    return in_quotes(text.substr(slash + 1)) + " is not a prefix length of 0 to 128";
  prefix = prefix_of(address, static_cast<uint8_t>(length));
  return "";
}

std::string parse_route(std::string_view text, Route& route) {
  const auto words = words_of(text);
  if (words.size() < 2) return "expected PREFIX [GATEWAY] PORT";
  if (words.size() > 3) return in_quotes(words[3]) + " is left over after PREFIX GATEWAY PORT";
  Route result;
  if (std::string reason = parse_prefix(words[0], result.prefix); !reason.empty()) return reason;
  if (words.size() == 3 && words[1] != "-" && !parse_address(words[1], result.hop.gateway))
    return in_quotes(words[1]) + " is not the IPv6 address of a gateway";
  if (!parse_number(words.back(), result.hop.port))
    return in_quotes(words.back()) + " is not a port number of 0 to 4294967295";
  route = result;
  return "";
}

std::vector<Route> read_route_file(const std::string& path, std::vector<std::string>& errors) {
  std::vector<Route> routes;
  read_lines(path, read_text_file(path, "route file"), "#;", errors, [&](std::string_view line) {
    Route route;
    const std::string reason = parse_route(line, route);
    if (reason.empty()) routes.push_back(route);
    return reason.empty() ? "" : in_quotes(line) + " is not a route: " + reason;
  });
  return routes;
}

}  // namespace heddle::ip6_lookup
