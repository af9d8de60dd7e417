#include "elements/ip/filter/names.h"

#include "click/port_names.h"

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

std::optional<uint32_t> find_tcp_option(std::string_view word) { return find(kTcpOptions, word); }

std::optional<uint32_t> find_icmp_type(std::string_view word) { return find(kIcmpTypes, word); }

std::string protocol_name(int proto) {
  for (auto& entry : kProtocols)
    if (entry.value == proto) return entry.name;
  return "protocol " + std::to_string(proto);
}

const std::vector<std::string>& all_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> result = {"src", "dst", "ip", "ether", "and", "or", "not", "true", "false", "mask"};
    for (auto& entry : kTypes) result.push_back(entry.name);
    for (auto& entry : kProtocols) result.push_back(entry.name);
    for (auto& entry : kTcpOptions) result.push_back(entry.name);
    for (auto& entry : kIcmpTypes) result.push_back(entry.name);
    for (const std::string& name : click::well_known_services()) result.push_back(name);
    return result;
  }();
  return words;
}

}  // namespace heddle::ip_filter
