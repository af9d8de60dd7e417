#pragma once

#include <span>
#include <string>

namespace heddle {

/** Appends an IPv4 packet as IPPrint of Click shows it, in the manner of tcpdump: "10.0.0.1.1024 > 10.0.0.2.53: udp
 *  40". `ip`: its bytes, 20 or more, as many as there are. `packet_bytes`: the length of the packet that it lies in.
 *  `swap_icmp`: ICMP identifiers and sequence numbers are in network byte order. */
void append_ip(std::string& line, std::span<const uint8_t> ip, uint32_t packet_bytes, bool swap_icmp);

/** The bytes behind its TCP or UDP header, or, in other packets and in later fragments, behind its IPv4 header. */
std::span<const uint8_t> ip_payload(std::span<const uint8_t> ip);

/** Click's names for numbers (its manual page ipnameinfo): of an IP protocol, a type of ICMP, a code of such a type;
 *  null where it has none. */
const char* protocol_name(unsigned number);
const char* icmp_type_name(unsigned type);
const char* icmp_code_name(unsigned type, unsigned code);

}  // namespace heddle
