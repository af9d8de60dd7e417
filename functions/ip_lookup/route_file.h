#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "click/address_book.h"
#include "functions/ip_lookup/route.h"

namespace heddle::ip_lookup {

/** Reads one route, `PREFIX [GATEWAY] PORT` separated by blanks, as in a route file or an element's argument.
 *  PREFIX: ADDR/LEN, ADDR/MASK (dotted, contiguous), ADDR (= /32), `default` or `0/0`. With a length, zeros at ADDR's
 *  end may be left out (10.2/16); bits after the length are cleared (10.1.0.1/16 is 10.1.0.0/16), as Click does.
 *  GATEWAY: a dotted IPv4 address, or `-` or 0.0.0.0 for none. PORT: 0 to 4294967295. Prefix and gateway may be one of
 *  `names`. Returns what is wrong, as the end of "'TEXT' is not a route: ", or "" when `route` holds it. */
std::string parse_route(std::string_view text, Route& route, const click::AddressNames& names = {});

/** The routes of a text file, one parse_route() line each, in file order. `#` and `;` start comments; blank lines, tabs
 * and CRLF are fine; so is the PREFIX<TAB>NUMBER format of routing-table dumps. Every other line is a mistake: `errors`
 * gets "PATH:LINE: 'TEXT' is not a route: WHY" for the first 100 of them and one "PATH: ... and N more" for the rest;
 * what it held before stays. So is a route to another output than the first `outputs`. Throws Error when the file
 * cannot be read. */
std::vector<Route> read_route_file(const std::string& path, std::vector<std::string>& errors,
                                   uint64_t outputs = uint64_t{1} << 32);

}  // namespace heddle::ip_lookup
