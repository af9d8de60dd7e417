#include "elements/ip/ip_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "core/load.h"
#include "elements/basic/packet_text.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

using ByteSpan = std::span<const uint8_t>;

uint16_t u16(ByteSpan bytes, size_t at) { return ntohs(load_u16(bytes.data() + at)); }
uint32_t u32(ByteSpan bytes, size_t at) { return ntohl(load_u32(bytes.data() + at)); }

size_t header_bytes(ByteSpan ip) { return (ip[0] & 15u) * 4; }
bool first_fragment(ByteSpan ip) { return (u16(ip, 6) & 0x1fff) == 0; }

/** What is there of the bytes behind the IPv4 header: neither more than the packet has nor than its total length
 *  says. */
ByteSpan transport(ByteSpan ip) {
  const size_t end = std::min<size_t>(ip.size(), u16(ip, 2));
  return header_bytes(ip) < end ? ip.subspan(header_bytes(ip), end - header_bytes(ip)) : ByteSpan();
}

void append_address(std::string& line, ByteSpan bytes, size_t at) {
  append(line, "%u.%u.%u.%u", bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
}
void append_addresses(std::string& line, ByteSpan ip) {
  append_address(line, ip, 12), line += " > ", append_address(line, ip, 16);
}
void append_addresses_and_ports(std::string& line, ByteSpan ip, ByteSpan ports) {
  append_address(line, ip, 12), append(line, ".%u > ", u16(ports, 0));
  append_address(line, ip, 16), append(line, ".%u: ", u16(ports, 2));
}

void append_tcp(std::string& line, ByteSpan ip, uint32_t packet_bytes) {
  const ByteSpan tcp = transport(ip);
  if (tcp.size() < 4 || !first_fragment(ip)) {
    append_addresses(line, ip);
    line += first_fragment(ip) ? ": truncated-tcp" : ": tcp";
    return;
  }
  append_addresses_and_ports(line, ip, tcp);
  if (tcp.size() < 14) {
    line += "truncated-tcp";
    return;
  }
  constexpr unsigned kFin = 1, kSyn = 2, kReset = 4, kPush = 8, kAck = 16;
  const unsigned flags = tcp[13];
  const int bytes = u16(ip, 2) - static_cast<int>(header_bytes(ip)) - (tcp[12] >> 4) * 4 + ((flags & kSyn) != 0) +
                    ((flags & kFin) != 0);
  if (flags & kSyn) line += 'S';
  if (flags & kFin) line += 'F';
  if (flags & kReset) line += 'R';
  if (flags & kPush) line += 'P';
  if (!(flags & (kSyn | kFin | kReset | kPush))) line += '.';
  const uint32_t sequence = u32(tcp, 4);
  append(line, " %u:%u(%d,%u,%u)", sequence, sequence + static_cast<uint32_t>(bytes), bytes, packet_bytes, u16(ip, 2));
  if (flags & kAck) append(line, " ack %u", u32(tcp, 8));
  if (tcp.size() < 16)
    line += "truncated-tcp";
  else
    append(line, " win %u", u16(tcp, 14));
}

void append_udp(std::string& line, ByteSpan ip) {
  const ByteSpan udp = transport(ip);
  if (udp.size() < 4 || !first_fragment(ip)) {
    append_addresses(line, ip);
    line += first_fragment(ip) ? ": truncated-udp" : ": udp";
    return;
  }
  append_addresses_and_ports(line, ip, udp);
  if (udp.size() < 8)
    line += "truncated-udp";
  else
    append(line, "udp %u", u16(udp, 4));
}

}  // namespace

const char* protocol_name(unsigned number) {
  switch (number) {
    case 1:
      return "icmp";
    case 2:
      return "igmp";
    case 4:
      return "ipip";
    case kTcp:
      return "tcp";
    case kUdp:
      return "udp";
    case 33:
      return "dccp";
    case 47:
      return "gre";
    case 132:
      return "sctp";
    default:
      return nullptr;
  }
}
const char* icmp_type_name(unsigned type) {
  static constexpr std::array<const char*, 19> kNames = {
      "echo-reply",      nullptr,   nullptr,         "unreachable",   "sourcequench", "redirect",         nullptr,
      nullptr,           "echo",    "routeradvert",  "routersolicit", "timeexceeded", "parameterproblem", "timestamp",
      "timestamp-reply", "inforeq", "inforeq-reply", "maskreq",       "maskreq-reply"};
  return type < kNames.size() ? kNames[type] : nullptr;
}
const char* icmp_code_name(unsigned type, unsigned code) {
  static constexpr const char* kUnreachable[] = {"net",
                                                 "host",
                                                 "protocol",
                                                 "port",
                                                 "needfrag",
                                                 "srcroutefail",
                                                 "netunknown",
                                                 "hostunknown",
                                                 "isolated",
                                                 "netprohibited",
                                                 "hostprohibited",
                                                 "tosnet",
                                                 "toshost",
                                                 "filterprohibited",
                                                 "hostprecedence",
                                                 "precedencecutoff"};
  static constexpr const char* kRedirect[] = {"net", "host", "tosnet", "toshost"};
  static constexpr const char* kTimeExceeded[] = {"transit", "reassembly"};
  static constexpr const char* kParameterProblem[] = {"erroratptr", "missingopt", "length"};
  const auto of = [code](std::span<const char* const> names) { return code < names.size() ? names[code] : nullptr; };
  switch (type) {
    case 3:
      return of(kUnreachable);
    case 5:
      return of(kRedirect);
    case 11:
      return of(kTimeExceeded);
    case 12:
      return of(kParameterProblem);
    default:
      return nullptr;
  }
}

namespace {

/** Destination unreachable, with the packet that did not arrive behind its 8 bytes (RFC 792). */
void append_unreachable(std::string& line, ByteSpan icmp) {
  const unsigned code = icmp[1];
  const char* known = icmp_code_name(3, code);
  const std::string words = known != nullptr ? known : "code " + std::to_string(code);
  if (icmp.size() < 28) {
    append(line, "icmp unreachable %s truncated-icmp", words.c_str());
    return;
  }
  const ByteSpan ip = icmp.subspan(8);
  line += "icmp ", append_address(line, ip, 16), line += " unreachable " + words;
  constexpr unsigned kProtocol = 2, kPort = 3, kNeedFragment = 4;
  const char* protocol = protocol_name(ip[9]);
  if (code == kProtocol || code == kPort) {
    line += ' ';
    if (protocol != nullptr)
      line += protocol;
    else
      append(line, code == kPort ? "protocol %u" : "%u", ip[9]);
  }
  if (code == kPort) {
    if (ip.size() < header_bytes(ip) + 4)
      line += "truncated-icmp";
    else
      append(line, "/%u", u16(ip, header_bytes(ip) + 2));
  }
  if (code == kNeedFragment && u16(icmp, 6) != 0) append(line, " (mtu %u)", u16(icmp, 6));
}

void append_icmp(std::string& line, ByteSpan ip, bool swap) {
  const ByteSpan icmp = transport(ip);
  append_addresses(line, ip), line += ": ";
  if (!first_fragment(ip)) {
    line += "icmp";
    return;
  }
  if (icmp.size() < 2) {
    line += "truncated-icmp";
    return;
  }
  const unsigned type = icmp[0], code = icmp[1];
  constexpr unsigned kEchoReply = 0, kUnreachable = 3, kEcho = 8;
  if (type == kEcho || type == kEchoReply) {
    line += type == kEcho ? "icmp echo " : "icmp echo-reply ";
    const auto number = [&](size_t at) { return swap ? u16(icmp, at) : load_u16(icmp.data() + at); };
    if (icmp.size() < 8)
      line += "truncated-icmp";
    else
      append(line, "(%u, %u)", number(4), number(6));
  } else if (type == kUnreachable) {
    append_unreachable(line, icmp);
  } else {
    if (const char* known = icmp_type_name(type))
      append(line, "icmp %s", known);
    else
      append(line, "icmp type %u", type);
    if (const char* known = icmp_code_name(type, code))
      append(line, " %s", known);
    else if (code != 0)
      append(line, " code %u", code);
  }
}

}  // namespace

void append_ip(std::string& line, std::span<const uint8_t> ip, uint32_t packet_bytes, bool swap_icmp) {
  switch (ip[9]) {
    case kTcp:
      append_tcp(line, ip, packet_bytes);
      break;
    case kUdp:
      append_udp(line, ip);
      break;
    case kIcmp:
      append_icmp(line, ip, swap_icmp);
      break;
    default:
      append_addresses(line, ip), append(line, ": ip-proto-%u", ip[9]);
  }
  constexpr unsigned kMoreFragments = 0x2000;
  const unsigned fragment = u16(ip, 6);
  if ((fragment & 0x3fff) != 0)
    append(line, " (frag %u:%d@%u%s)", u16(ip, 4), u16(ip, 2) - static_cast<int>(header_bytes(ip)),
           (fragment & 0x1fff) * 8, (fragment & kMoreFragments) != 0 ? "+" : "");
}

std::span<const uint8_t> ip_payload(std::span<const uint8_t> ip) {
  size_t at = header_bytes(ip);
  if (first_fragment(ip) && ip[9] == kUdp) at += 8;
  if (first_fragment(ip) && ip[9] == kTcp) at = at + 12 < ip.size() ? at + (ip[at + 12] >> 4) * 4u : ip.size();
  return ip.subspan(std::min(at, ip.size()));
}

}  // namespace heddle
