#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::bench {

/** What protects the packets of generated security associations. */
enum class EspSuite { ctr_sha1, ctr_sha256, gcm };

/** `count` associations of IPv4 tunnels with SPIs from 0x1001 on, as `ip xfrm state` prints them; the same for the same
 *  seed, so their keys protect nothing. Their selectors divide all destinations into as many networks of one size, as
 *  far as powers of two go, and the last association has the rest. Outer addresses: 198.18.0.1, and from 198.18.0.2 on
 *  one each up to 65,534 (RFC 2544). */
std::string generate_associations(size_t count, EspSuite suite, uint64_t seed);

}  // namespace heddle::bench
