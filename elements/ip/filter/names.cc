#include "elements/ip/filter/names.h"

namespace heddle::ip_filter {
namespace {

// RFC 791, 3.1; RFC 2474; RFC 3168; RFC 9293, 3.1; RFC 792.
constexpr TypeWord kTypes[] = {
    {"host", Type::kHost, {}},
    {"net", Type::kNet, {}},
    {"proto", Type::kProto, {}},
    {"port", Type::kPort, {}},
    {"opt", Type::kTcpOption, {}},
    {"frag", Type::kFragment, {}},
    {"unfrag", Type::kUnfragmented, {}},
    {"ect", Type::kEct, {-1, 14, 2}},
    {"ce", Type::kCe, {-1, 14, 2}},
    {"vers", Type::kField, {-1, 0, 4}},
    {"hl", Type::kField, {-1, 4, 4}},
    {"tos", Type::kField, {-1, 8, 8}},
    {"dscp", Type::kField, {-1, 8, 6}},
    {"len", Type::kField, {-1, 16, 16}},
    {"id", Type::kField, {-1, 32, 16}},
    {"ttl", Type::kField, {-1, 64, 8}},
    {"win", Type::kField, {kTcp, 112, 16}},
    {"type", Type::kField, {kIcmp, 0, 8}},
    {"code", Type::kField, {kIcmp, 8, 8}},
};

struct Name {
  const char* name;
  int value;
};

// IANA's protocol numbers; tcpudp and transp are Click's.
constexpr Name kProtocols[] = {
    {"icmp", kIcmp}, {"igmp", 2},      {"ipip", 4},           {"tcp", kTcp},
    {"udp", kUdp},   {"dccp", 33},     {"gre", 47},           {"esp", 50},
    {"ah", 51},      {"ospf", 89},     {"pim", 103},          {"vrrp", 112},
    {"sctp", 132},   {"udplite", 136}, {"tcpudp", kTcpOrUdp}, {"transp", kAnyTransport},
};

// RFC 9293, 3.1: byte 13 of the header.
constexpr Name kTcpOptions[] = {{"fin", 1}, {"syn", 2}, {"rst", 4}, {"psh", 8}, {"ack", 16}, {"urg", 32}};

// RFC 792, RFC 950, RFC 1256.
constexpr Name kIcmpTypes[] = {
    {"echo-reply", 0},
    {"unreachable", 3},
    {"sourcequench", 4},
    {"redirect", 5},
    {"echo", 8},
    {"routeradvert", 9},
    {"routersolicit", 10},
    {"timeexceeded", 11},
    {"parameterproblem", 12},
    {"timestamp", 13},
    {"timestamp-reply", 14},
    {"inforeq", 15},
    {"inforeq-reply", 16},
    {"maskreq", 17},
    {"maskreq-reply", 18},
};

// IANA's service names under the names that Click and /etc/services use; -1: the protocol has no service of that name.
struct PortName {
  const char* name;
  int tcp, udp;
};
constexpr PortName kPorts[] = {
    {"echo", 7, 7},
    {"discard", 9, 9},
    {"daytime", 13, 13},
    {"chargen", 19, 19},
    {"ftp-data", 20, 20},
    {"ftp", 21, 21},
    {"ssh", 22, 22},
    {"telnet", 23, 23},
    {"smtp", 25, 25},
    {"time", 37, 37},
    {"whois", 43, 43},
    {"tacacs", 49, 49},
    {"domain", 53, 53},
    {"dns", 53, 53},
    {"bootps", 67, 67},
    {"bootpc", 68, 68},
    {"tftp", 69, 69},
    {"gopher", 70, 70},
    {"finger", 79, 79},
    {"www", 80, 80},
    {"http", 80, 80},
    {"kerberos", 88, 88},
    {"pop3", 110, 110},
    {"sunrpc", 111, 111},
    {"auth", 113, 113},
    {"nntp", 119, 119},
    {"ntp", 123, 123},
    {"netbios-ns", 137, 137},
    {"netbios-dgm", 138, 138},
    {"netbios-ssn", 139, 139},
    {"imap2", 143, 143},
    {"imap", 143, 143},
    {"snmp", 161, 161},
    {"snmp-trap", 162, 162},
    {"bgp", 179, 179},
    {"irc", 194, 194},
    {"imap3", 220, 220},
    {"ldap", 389, 389},
    {"https", 443, 443},
    {"microsoft-ds", 445, 445},
    {"isakmp", 500, 500},
    {"exec", 512, -1},
    {"biff", -1, 512},
    {"login", 513, -1},
    {"who", -1, 513},
    {"shell", 514, -1},
    {"syslog", 514, 514},
    {"printer", 515, 515},
    {"rip", 520, 520},
    {"route", 520, 520},
    {"ldaps", 636, 636},
    {"imaps", 993, 993},
    {"pop3s", 995, 995},
    {"socks", 1080, 1080},
    {"openvpn", 1194, 1194},
    {"l2tp", 1701, 1701},
    {"radius", 1812, 1812},
    {"radius-acct", 1813, 1813},
    {"nfs", 2049, 2049},
    {"mysql", 3306, 3306},
    {"rdp", 3389, 3389},
    {"ipsec-nat-t", 4500, 4500},
    {"vxlan", -1, 4789},
    {"sip", 5060, 5060},
    {"postgresql", 5432, 5432},
    {"x11", 6000, -1},
    {"http-alt", 8080, 8080},
};

template <size_t n>
std::optional<uint32_t> find(const Name (&names)[n], std::string_view word) {
  for (auto& entry : names)
    if (word == entry.name) return static_cast<uint32_t>(entry.value);
  return std::nullopt;
}

}  // namespace

const TypeWord* find_type(std::string_view word) {
  for (auto& entry : kTypes)
    if (word == entry.name) return &entry;
  return nullptr;
}

std::optional<int> find_protocol(std::string_view word) {
  const auto found = find(kProtocols, word);
  return found ? std::optional(static_cast<int>(*found)) : std::nullopt;
}

std::optional<uint32_t> find_port(std::string_view word, int proto) {
  for (auto& entry : kPorts) {
    if (word != entry.name) continue;
    int port = proto == kUdp || entry.tcp < 0 ? entry.udp : entry.tcp;
    if (proto == kTcp) port = entry.tcp;
    return port < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(port));
  }
  return std::nullopt;
}

std::optional<uint32_t> find_tcp_option(std::string_view word) { return find(kTcpOptions, word); }

std::optional<uint32_t> find_icmp_type(std::string_view word) { return find(kIcmpTypes, word); }

std::string protocol_name(int proto) {
  for (auto& entry : kProtocols)
    if (entry.value == proto) return entry.name;
  return "protocol " + std::to_string(proto);
}

const std::vector<std::string>& all_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> result = {"src", "dst", "ip", "and", "or", "not", "true", "false", "mask"};
    for (auto& entry : kTypes) result.push_back(entry.name);
    for (auto& entry : kProtocols) result.push_back(entry.name);
    for (auto& entry : kTcpOptions) result.push_back(entry.name);
    for (auto& entry : kIcmpTypes) result.push_back(entry.name);
    for (auto& entry : kPorts) result.push_back(entry.name);
    return result;
  }();
  return words;
}

}  // namespace heddle::ip_filter
