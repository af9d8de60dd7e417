#pragma once

#include "convert/routes/byte_stream.h"
#include "convert/routes/learned_route.h"

namespace heddle::ip_lookup {

/** What an MRT file held besides the routes. */
struct MrtCounts {
  uint64_t records = 0;           ///< of all kinds
  uint64_t other_records = 0;     ///< not of an IPv4 unicast RIB: peer tables, IPv6, multicast, updates, ...
  uint64_t without_next_hop = 0;  ///< IPv4 prefixes none of whose entries has an IPv4 next hop
};

/** Reads the IPv4 unicast routes of a RIB dump in MRT format: TABLE_DUMP and TABLE_DUMP_V2 (RFC 6396, sections 4.2 and
 *  4.3), also with additional paths (RFC 8050). Of a prefix's entries the first that has an IPv4 next hop counts. Other
 *  records are passed over. Throws Error, "byte N: ...", when a record contradicts itself or the file ends within one;
 *  N counts from 0 and after decompression. Keeps one record in memory, at most 16 MiB. */
MrtCounts read_mrt(ByteStream& stream, const RouteSink& sink);

}  // namespace heddle::ip_lookup
