#include "elements/ip/get_ip_address.h"

#include "click/arguments.h"

namespace heddle {

void GetIPAddress::configure(click::Arguments& arguments) { arguments.required("OFFSET", offset_, 0, 16384); }

HEDDLE_ELEMENT(GetIPAddress);

}  // namespace heddle
