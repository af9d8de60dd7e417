#pragma once

#include <string>
#include <string_view>

namespace heddle {

/** Argument ANNO. Click has many annotations of four bytes; Heddle has DST_IP, which are bytes 0 to 3 of Click's. */
struct AddressAnnotation {};
inline bool parse(std::string_view text, AddressAnnotation&) { return text == "DST_IP" || text == "0"; }
inline std::string expectation(AddressAnnotation) { return "DST_IP, the only annotation of four bytes that there is"; }

}  // namespace heddle
