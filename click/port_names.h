#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::click {

/** The port of a service, "http" or "domain", at TCP or, with `udp`, at UDP: as IANA says, of those that Click knows
 *  and a few more, the same on every host. */
std::optional<uint16_t> well_known_port(std::string_view service, bool udp);
/** As this host says, in /etc/services. */
std::optional<uint16_t> port_of_host(std::string_view service, bool udp);

/** The names that well_known_port() knows, for suggestions. */
std::vector<std::string> well_known_services();

}  // namespace heddle::click
