#pragma once

#include <string>
#include <string_view>

namespace heddle {

/** Argument OFFSET of StoreIPAddress: a byte of the packet, or an address of its IPv4 header. */
struct AddressPlace {
  int offset = 0;  ///< from the start of the packet, or, in the header, 12 or 16
  bool in_header = false;
};
bool parse(std::string_view text, AddressPlace& value);
std::string expectation(AddressPlace);

}  // namespace heddle
