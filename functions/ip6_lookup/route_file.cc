#include "functions/ip6_lookup/route_file.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>
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

/** Of how many ones the mask consists, with nothing but zeros behind them; nullopt: it has others. */
std::optional<uint32_t> length_of(const Address& mask) {
  for (uint32_t length = 0; length <= 128; ++length)
    if (prefix_mask(length) == mask) return length;
  return std::nullopt;
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
  auto words = words_of(text);
  if (words.size() < 2) return "expected PREFIX [GATEWAY] PORT";
  Route result;
  if (std::string reason = parse_prefix(words[0], result.prefix); !reason.empty()) return reason;
  Address mask;
  if (words.size() == 4 && words[0].find('/') == words[0].npos && parse_address(words[1], mask)) {
    const auto length = length_of(mask);
    if (!length) return in_quotes(words[1]) + " is not a mask such as ffff:ffff::";
    result.prefix = prefix_of(result.prefix.address, static_cast<uint8_t>(*length));
    words.erase(words.begin() + 1);
  }
  if (words.size() > 3) return in_quotes(words[3]) + " is left over after PREFIX GATEWAY PORT";
  if (words.size() == 3 && words[1] != "-" && !parse_address(words[1], result.hop.gateway))
    return in_quotes(words[1]) + " is not the IPv6 address of a gateway";
  if (!parse_number(words.back(), result.hop.port))
    return in_quotes(words.back()) + " is not a port number of 0 to 4294967295";
  route = result;
  return "";
}

std::vector<Route> read_route_file(const std::string& path, std::vector<std::string>& errors, uint32_t outputs) {
  std::vector<Route> routes;
  read_lines(path, read_text_file(path, "route file"), "#;", errors, [&](std::string_view line) -> std::string {
    Route route;
    if (const std::string reason = parse_route(line, route); !reason.empty())
      return in_quotes(line) + " is not a route: " + reason;
    if (route.hop.port >= outputs)
      return format("route %s: output %u is not connected (outputs are 0 to %d)", to_text(route.prefix).c_str(),
                    route.hop.port, static_cast<int>(outputs) - 1);
    routes.push_back(route);
    return "";
  });
  return routes;
}

}  // namespace heddle::ip6_lookup
