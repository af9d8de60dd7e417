#pragma once

#include "functions/nids/match.h"

namespace heddle::nids {

/** Whether a segment of TCP has a right checksum, with the pseudo header of IPv4 or IPv6 (RFC 9293, 3.1; RFC 8200,
 *  8.1), or nobody can tell: of a fragment, of a packet that a capture has cut, and behind a routing header, where the
 *  last address counts. `view`: with a transport header. */
bool checksum_may_be_right(const View& view);

}  // namespace heddle::nids
