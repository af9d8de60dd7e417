#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::bench {

/** `count` different Ethernet addresses of hosts, random ones that are locally administered (IEEE 802, 8.2), in random
 *  order, "ADDRESS PORT" a line; ports 0 to ports - 1, each as likely as the other. The same for the same seed. */
std::string mac_file(size_t count, uint32_t ports, uint64_t seed);

}  // namespace heddle::bench
