#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "functions/ip6_lookup/route.h"

namespace heddle::ip6_lookup {

/** An IPv6 address as inet_pton reads it (RFC 4291, section 2.2). */
bool parse_address(std::string_view text, Address& address);
std::string to_text(Address address);  ///< as RFC 5952 wants it
std::string to_text(const Prefix& prefix);

/** ADDRESS/LENGTH, ADDRESS (= /128), or `default`; bits after the length are cleared. Returns what is wrong, or "". */
std::string parse_prefix(std::string_view text, Prefix& prefix);

/** Reads one route, `PREFIX [GATEWAY] PORT` separated by blanks, as in a route file or an element's argument. GATEWAY:
 *  an address, or `-` or `::` (Click writes `::0`) for none. PORT: 0 to 4294967295. Old configurations of Click have
 *  `ADDRESS MASK GATEWAY PORT`. Returns what is wrong, as the end
 *  of "'TEXT' is not a route: ", or "" when `route` holds it. */
std::string parse_route(std::string_view text, Route& route);

/** The routes of a text file, one parse_route() line each, in file order. `#` and `;` start comments. Every other line
 *  is a mistake: `errors` gets "PATH:LINE: 'TEXT' is not a route: WHY" for the first 100 of them and one "PATH: ... and
 *  N more" for the rest. So is a route to another output than the first `outputs`. Throws Error when the file cannot
 *  be read. */
std::vector<Route> read_route_file(const std::string& path, std::vector<std::string>& errors, uint32_t outputs);

}  // namespace heddle::ip6_lookup
