// The handlers of LookupIP6Route, those of IPRouteTable with IPv6 addresses.

#include <map>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "functions/ip6_lookup/ip6_lookup.h"
#include "functions/ip6_lookup/route_file.h"

namespace heddle {

using ip6_lookup::Address;
using ip6_lookup::Hop;
using ip6_lookup::Prefix;
using ip6_lookup::Route;

namespace {

std::string gateway_text(const Hop& hop) { return hop.gateway == Address{} ? "-" : to_text(hop.gateway); }

}  // namespace

/** Changes the table by lines "add ROUTE", "set ROUTE" and "remove PREFIX": all of them or, when one is wrong, none. */
void LookupIP6Route::change(const std::string& commands) {
  std::map<Prefix, std::optional<Hop>> later;  // none: the route is removed
  const auto found = [&](const Prefix& prefix) {
    const auto changed = later.find(prefix);
    return changed == later.end() ? routes_.find(prefix) : changed->second;
  };
  std::istringstream lines(commands);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string command, rest;
    if (!(words >> command) || command[0] == '#') continue;
    std::getline(words >> std::ws, rest);
    Route route;
    if (command == "remove") {
      rest.erase(rest.find_last_not_of(" \t\r") + 1);
      const bool whole = rest.find_first_of(" \t") != std::string::npos;
      if (const auto problem = ip6_lookup::parse_route(whole ? rest : rest + " 0", route); !problem.empty())
        throw Error("expected 'ADDR/LEN [GATEWAY OUTPUT]': " + problem);
      const auto old = found(route.prefix);
      if (!old || (whole && *old != route.hop)) throw Error("route '" + rest + "' not found");
      later[route.prefix] = std::nullopt;
    } else if (command == "add" || command == "set") {
      if (const auto problem = ip6_lookup::parse_route(rest, route); !problem.empty())
        throw Error("expected 'ADDR/LEN [GATEWAY] OUTPUT': " + problem);
      if (route.hop.port >= static_cast<uint32_t>(outputs))
        throw Error(format("route '%s': output %u is not connected (outputs are 0 to %d)", rest.c_str(), route.hop.port,
                           outputs - 1));
      if (const auto old = found(route.prefix); old && command == "add")
        throw Error("conflict with existing route '" + to_text(route.prefix) + " " + gateway_text(*old) + " " +
                    std::to_string(old->port) + "'");
      later[route.prefix] = route.hop;
    } else {
      throw Error("bad command '" + command.substr(0, 80) + "'; expected add, set or remove");
    }
  }
  std::vector<Route> set;
  std::vector<Prefix> gone;
  for (const auto& [prefix, hop] : later) {
    if (hop)
      set.push_back({prefix, *hop});
    else
      gone.push_back(prefix);
  }
  if (!later.empty()) routes_.change(set, gone);
  changed();
}

std::string LookupIP6Route::lookup_text(const std::string& text) const {
  Address address;
  if (!ip6_lookup::parse_address(text, address))
    throw Error("'" + text.substr(0, 80) + "' is not an IPv6 address such as 2001:db8::1");
  const auto hop = routes_.lookup(address);
  if (!hop) return "-1";
  return std::to_string(hop->port) + (hop->gateway == Address{} ? "" : " " + to_text(hop->gateway));
}

std::string LookupIP6Route::table_text() const {
  std::string text;
  for (const Route& route : routes_.routes())
    text += to_text(route.prefix) + "\t" + gateway_text(route.hop) + "\t" + std::to_string(route.hop.port) + "\n";
  return text;
}

void LookupIP6Route::handlers(Handlers& list) {
  const auto one = [this](const char* command) {
    return [this, command](const std::string& value) {
      if (value.find('\n') < value.find_last_not_of(" \t\r\n")) throw Error("expected one route; ctrl takes several");
      if (value.find_first_not_of(" \t\r\n") == std::string::npos) throw Error("expected ADDR/LEN [GATEWAY] OUTPUT");
      change(std::string(command) + " " + value);
    };
  };
  list.write("add", one("add"))
      .write("set", one("set"))
      .write("remove", one("remove"))
      .write("ctrl", [this](const std::string& value) { change(value); })
      .write("flush", [this](const std::string&) { load({}); })
      .read("table", [this] { return table_text(); })
      .read("form", [this] { return std::string(routes_.form()); })
      .read_with_argument("lookup", [this](const std::string& address) { return lookup_text(address); });
  if (!file_.empty()) list.write("reload", [this](const std::string&) { reload(); });
}

}  // namespace heddle
