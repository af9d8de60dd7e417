#pragma once

#include "elements/ip/transport.h"
#include "elements/nat/mapping_table.h"

namespace heddle::nat {

/** Moves the sequence numbers of a TCP packet whose flow has grown or shrunk on its way: those of the flow's own
 *  packets, and for replies those that they acknowledge, selectively as well (RFC 9293, RFC 2018). Corrects the
 *  checksum. */
void shift_sequence(const Ip4Header& ip, const Shift& shift, bool reply);

}  // namespace heddle::nat
