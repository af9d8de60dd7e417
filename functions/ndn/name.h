#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::ndn {

/** Reads a name in its URI form (NDN packet format 0.3, section "NDN URI Scheme"): /COMPONENT/COMPONENT..., "/" for the
 *  one without components, optionally after "ndn:". A component is TYPE=VALUE, or VALUE for a generic one; bytes as
 *  they are or as %HH; periods alone stand for three periods less. `wire` gets the components as in a packet, without
 *  the TLV around them; `components` their number. Returns what is wrong, or "". */
std::string parse_name(std::string_view text, std::string& wire, int& components);

/** The URI of components as in a packet, which must be well-formed. */
std::string name_text(std::string_view wire);

}  // namespace heddle::ndn
