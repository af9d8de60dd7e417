#pragma once

#include "elements/ip/transport.h"
#include "elements/nat/mapping_table.h"

namespace heddle::nat {

// TCP flows that have grown or shrunk on their way: numbers of their packets (RFC 9293, RFC 2018). Checksums are
// corrected. Nothing happens to other packets.

/** Moves the sequence number of one of the flow's own packets. */
void shift_forward(const Ip4Header& ip, const Shifts& shifts);
/** Moves back what a reply acknowledges, selectively as well. */
void shift_reply(const Ip4Header& ip, const Shifts& shifts);

/** Undoes shift_forward() or, of a reply, shift_reply() in a packet of which only the first bytes may be there; those
 *  of selective acknowledgements stay. */
void unshift(const Ip4Header& quoted, const Shifts& shifts, bool reply);

}  // namespace heddle::nat
