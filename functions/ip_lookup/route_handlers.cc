// The handlers of IPRouteTable, as Click has them.

#include <arpa/inet.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "click/values.h"
#include "core/error.h"
#include "functions/ip_lookup/ip_route_table.h"
#include "functions/ip_lookup/route_file.h"

namespace heddle {

using ip_lookup::Hop;
using ip_lookup::Route;

namespace {

std::string dotted(uint32_t network_order) {
  char text[INET_ADDRSTRLEN];
  const in_addr address{network_order};
  return inet_ntop(AF_INET, &address, text, sizeof text);
}

std::string text_of(const Route& route) { return dotted(htonl(route.address)) + "/" + std::to_string(route.length); }

std::string text_of(const Hop& hop) {
  return (hop.gateway == 0 ? "-" : dotted(hop.gateway)) + " " + std::to_string(hop.port);
}

/** `text` in columns 8 characters wide, at least `columns` of them, as Click prints it. */
std::string padded(std::string text, size_t columns) {
  text += '\t';
  if (text.size() < (columns - 1) * 8 + 1) text += '\t';
  return text;
}

}  // namespace

/** Changes the table by lines "add ROUTE", "set ROUTE" and "remove PREFIX": all of them or, when one is wrong, none. */
void IPRouteTable::change(const std::string& commands) {
  struct Later {
    Route route;
    std::optional<Hop> hop;  // none: the route is removed
  };
  std::map<std::pair<uint32_t, uint8_t>, Later> later;
  const auto found = [&](const Route& route) {
    const auto changed = later.find({route.address, route.length});
    return changed == later.end() ? table_->find(route.address, route.length) : changed->second.hop;
  };
  std::istringstream lines(commands);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string command, rest;
    if (!(words >> command) || command[0] == '#') continue;
    std::getline(words >> std::ws, rest);
    Route route{};
    if (command == "remove") {
      const bool whole = rest.find_first_of(" \t") != std::string::npos;
      if (const auto problem = ip_lookup::parse_route(whole ? rest : rest + " 0", route, names_); !problem.empty())
        throw Error("expected 'ADDR/MASK [GATEWAY OUTPUT]': " + problem);
      const auto old = found(route);
      if (!old || (whole && *old != route.hop)) throw Error("route '" + rest + "' not found");
      later[{route.address, route.length}] = {route, std::nullopt};
    } else if (command == "add" || command == "set") {
      if (const auto problem = ip_lookup::parse_route(rest, route, names_); !problem.empty())
        throw Error("expected 'ADDR/MASK [GATEWAY] OUTPUT': " + problem);
      if (route.hop.port >= static_cast<uint32_t>(outputs))
        throw Error(format("route '%s': output %u is not connected (outputs are 0 to %d)", rest.c_str(), route.hop.port,
                           outputs - 1));
      if (const auto old = found(route); old && command == "add")
        throw Error("conflict with existing route '" + text_of(route) + " " + text_of(*old) + "'");
      later[{route.address, route.length}] = {route, route.hop};
    } else {
      throw Error("bad command '" + command.substr(0, 80) + "'; expected add, set or remove");
    }
  }
  std::vector<Route> set, gone;
  for (const auto& [prefix, what] : later) (what.hop ? set : gone).push_back(what.route);
  table_->change(std::move(set), std::move(gone));
  changed();
}

std::string IPRouteTable::lookup_text(const std::string& text) const {
  click::Ipv4Address address;
  if (!names_.find(text, address)) address = click::value_of<click::Ipv4Address>(text);
  const auto hop = table_->lookup(address.value);
  if (!hop) return "-1";
  return std::to_string(hop->port) + (hop->gateway != 0 ? " " + dotted(hop->gateway) : "");
}

std::string IPRouteTable::table_text() const {
  std::vector<Route> routes = table_->routes();
  if (lists_as_given()) {
    std::map<std::pair<uint32_t, uint32_t>, size_t> places;  // by prefix
    for (const Route& own : own_routes_)
      places.try_emplace({own.address & ip_lookup::prefix_mask(own.length), own.length}, places.size());
    std::ranges::stable_sort(routes, {}, [&](const Route& route) {
      const auto own = places.find({route.address, route.length});
      return own == places.end() ? places.size() : own->second;
    });
  }
  std::string text;
  for (const Route& route : routes)
    text += padded(text_of(route), 3) + padded(route.hop.gateway == 0 ? "-" : dotted(route.hop.gateway), 2) +
            std::to_string(route.hop.port) + "\n";
  return text;
}

void IPRouteTable::handlers(Handlers& list) {
  const auto one = [this](const char* command) {
    return [this, command](const std::string& value) {
      if (value.find('\n') < value.find_last_not_of(" \t\r\n")) throw Error("expected one route; ctrl takes several");
      if (value.find_first_not_of(" \t\r\n") == std::string::npos) throw Error("expected ADDR/MASK [GATEWAY] OUTPUT");
      change(std::string(command) + " " + value);
    };
  };
  list.write("add", one("add"))
      .write("set", one("set"))
      .write("remove", one("remove"))
      .write("ctrl", [this](const std::string& value) { change(value); })
      .write("flush", [this](const std::string&) { table_->replace({}), changed(); })
      .read("table", [this] { return table_text(); })
      .read_with_argument("lookup", [this](const std::string& address) { return lookup_text(address); });
  if (*table_->form() != 0) list.read("form", [this] { return std::string(table_->form()); });
  if (!file_.empty()) list.write("reload", [this](const std::string&) { reload(); });
}

}  // namespace heddle
