#pragma once

#include <optional>
#include <vector>

#include "functions/ip_lookup/route.h"

namespace heddle::ip_lookup {

using Answer = std::optional<Hop>;

/** The oracle: a list of routes, searched from end to end. Shares nothing with the tables. */
struct Oracle {
  std::vector<Route> routes;

  static bool covers(const Route& route, uint32_t address) {
    for (int bit = 0; bit < route.length; ++bit) {
      if ((route.address >> (31 - bit) & 1) != (address >> (31 - bit) & 1)) return false;
    }
    return true;
  }
  Answer lookup(uint32_t address) const {
    const Route* best = nullptr;
    for (const Route& route : routes) {
      if (covers(route, address) && (best == nullptr || route.length > best->length)) best = &route;
    }
    return best ? Answer(best->hop) : std::nullopt;
  }
  bool remove(uint32_t address, uint32_t length) {
    return std::erase_if(routes, [&](const Route& r) { return r.address == address && r.length == length; }) > 0;
  }
  void add(const Route& route) {
    remove(route.address, route.length);
    routes.push_back(route);
  }
};

}  // namespace heddle::ip_lookup
