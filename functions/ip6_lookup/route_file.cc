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

constexpr size_t kMaxErrors = 100;
constexpr size_t kMaxQuoted = 80;  // characters of a bad line in its error

bool is_blank(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto at = text.begin();;) {
    const auto begin = std::find_if_not(at, text.end(), is_blank);
    at = std::find_if(begin, text.end(), is_blank);
    if (begin == at) return words;
    words.emplace_back(begin, at);
  }
}

/** A decimal number that is all of `text`. */
bool parse_number(std::string_view text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/** `text` as it may stand in a message: printable, of bounded length. */
std::string quoted(std::string_view text) {
  std::string result(text.substr(0, kMaxQuoted));
  for (char& c : result)
    if (c < ' ' || c > '~') c = c == '\t' ? ' ' : '?';
  return "'" + result + (text.size() > kMaxQuoted ? "...'" : "'");
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
    return quoted(text) + " is not an IPv6 prefix such as 2001:db8::/32";
  uint32_t length = 128;
  if (slash != text.npos && (!parse_number(text.substr(slash + 1), length) || length > 128))
    return quoted(text.substr(slash + 1)) + " is not a prefix length of 0 to 128";
  prefix = prefix_of(address, static_cast<uint8_t>(length));
  return "";
}

std::string parse_route(std::string_view text, Route& route) {
  const auto words = words_of(text);
  if (words.size() < 2) return "expected PREFIX [GATEWAY] PORT";
  if (words.size() > 3) return quoted(words[3]) + " is left over after PREFIX GATEWAY PORT";
  Route result;
  if (std::string reason = parse_prefix(words[0], result.prefix); !reason.empty()) return reason;
  if (words.size() == 3 && words[1] != "-" && !parse_address(words[1], result.hop.gateway))
    return quoted(words[1]) + " is not the IPv6 address of a gateway";
  if (!parse_number(words.back(), result.hop.port))
    return quoted(words.back()) + " is not a port number of 0 to 4294967295";
  route = result;
  return "";
}

std::vector<Route> read_route_file(const std::string& path, std::vector<std::string>& errors) {
  const std::string text = read_text_file(path, "route file");
  std::vector<Route> routes;
  size_t bad = 0, line_number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view whole = rest.substr(0, end);
    std::string_view line = whole.substr(0, whole.find_first_of("#;"));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line_number;
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    if (line.empty()) continue;
    Route route;
    const std::string reason = parse_route(line, route);
    if (reason.empty()) {
      routes.push_back(route);
    } else if (++bad <= kMaxErrors) {
      errors.push_back(
          format("%s:%zu: %s is not a route: %s", path.c_str(), line_number, quoted(line).c_str(), reason.c_str()));
    }
  }
  if (bad > kMaxErrors) errors.push_back(format("%s: ... and %zu more", path.c_str(), bad - kMaxErrors));
  return routes;
}

}  // namespace heddle::ip6_lookup
