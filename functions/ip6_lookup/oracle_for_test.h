#pragma once

#include <arpa/inet.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "functions/ip6_lookup/route.h"

namespace heddle::ip6_lookup {

/** The oracle: routes as strings of bits, the longest of which that an address begins with is searched. Shares nothing
 *  with the table. */
struct Oracle {
  std::map<std::string, uint32_t> ports;

  static std::string bits(Address address) {
    std::string text;
    for (int half = 0; half < 2; ++half)
      for (int bit = 63; bit >= 0; --bit)
        text += ((half == 0 ? address.high : address.low) >> bit & 1) != 0 ? '1' : '0';
    return text;
  }
  static std::string bits(const Prefix& prefix) { return bits(prefix.address).substr(0, prefix.length); }

  void add(const Route& route) { ports[bits(route.prefix)] = route.hop.port; }
  bool remove(const Prefix& prefix) { return ports.erase(bits(prefix)) > 0; }
  std::optional<uint32_t> lookup(Address address) const {
    const std::string whole = bits(address);
    for (size_t length = 129; length-- > 0;)
      if (const auto found = ports.find(whole.substr(0, length)); found != ports.end()) return found->second;
    return std::nullopt;
  }
};

/** Prefixes of all lengths that lie in and beside one another, with few ports so that neighbours often agree. */
inline std::vector<Route> random_routes(std::mt19937& random, size_t count, uint32_t ports) {
  const auto word = [&random] { return uint64_t{random()} << 32 | random(); };
  std::vector<Route> routes;
  while (routes.size() < count) {
    Address address{word(), word()};
    if (!routes.empty() && random() % 4 != 0) {  // differs from another in one bit, and behind some bit
      address = routes[random() % routes.size()].prefix.address;
      const Address keep = prefix_mask(random() % 129);
      address = {(address.high & keep.high) | (word() & ~keep.high), (address.low & keep.low) | (word() & ~keep.low)};
    }
    constexpr uint8_t kLengths[] = {0, 1, 3, 20, 32, 44, 47, 48, 63, 64, 64, 65, 96, 126, 127, 128};
    const auto length = random() % 2 == 0 ? kLengths[random() % 16] : static_cast<uint8_t>(random() % 129);
    routes.push_back({prefix_of(address, length), {{}, static_cast<uint32_t>(random() % ports)}});
  }
  return routes;
}

/** Addresses at both ends of prefixes, just outside them, within them, and anywhere. */
inline std::vector<Address> addresses_near(std::mt19937& random, const std::vector<Route>& routes, size_t count) {
  const auto word = [&random] { return uint64_t{random()} << 32 | random(); };
  std::vector<Address> addresses;
  while (addresses.size() < count) {
    if (routes.empty() || random() % 8 == 0) {
      addresses.push_back({word(), word()});
      continue;
    }
    const auto& [first, length] = routes[random() % routes.size()].prefix;
    const Address mask = prefix_mask(length), last{first.high | ~mask.high, first.low | ~mask.low};
    const auto one_more = [](Address a) { return Address{a.high + (a.low == UINT64_MAX ? 1 : 0), a.low + 1}; };
    const auto one_less = [](Address a) { return Address{a.high - (a.low == 0 ? 1 : 0), a.low - 1}; };
    for (const Address& address : {first, last, one_less(first), one_more(last),
                                   Address{first.high | (word() & ~mask.high), first.low | (word() & ~mask.low)}})
      addresses.push_back(address);
  }
  return addresses;
}

}  // namespace heddle::ip6_lookup
