#include "elements/icmp/icmp_error.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"
#include "elements/icmp/icmp_names.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

constexpr uint32_t kIpBytes = 20, kIcmpBytes = 8, kMaxOptionBytes = 40, kMinMtu = 68;
constexpr uint8_t kLooseRoute = 131, kStrictRoute = 137, kNoOperation = 1;

/** A packet's source route: where the option stands in the header, and how many addresses it has recorded. */
struct SourceRoute {
  const uint8_t* option = nullptr;
  uint32_t bytes = 0, recorded = 0;
};

SourceRoute source_route_of(const Ip4Header& ip) {
  for (uint32_t at = kIpBytes; at + 2 < ip.bytes && ip.at[at] != 0;) {
    const uint8_t* option = ip.at + at;
    if (option[0] == kNoOperation) {
      ++at;
      continue;
    }
    const uint32_t bytes = option[1];
    if (bytes < 2 || at + bytes > ip.bytes) break;
    if ((option[0] == kLooseRoute || option[0] == kStrictRoute) && bytes >= 3) {
      const uint32_t end = std::min<uint32_t>(std::max<uint32_t>(option[2], 4) - 1, bytes);
      return {option, bytes, (end - 3) / 4};
    }
    at += bytes;
  }
  return {};
}

}  // namespace

void ICMPError::configure(click::Arguments& arguments) {
  click::Ipv4Address source;
  IcmpType type;
  std::string code;
  std::vector<click::Ipv4Address> bad;
  arguments.required("SRC", source).required("TYPE", type).optional("CODE", code).optional("BADADDRS", bad);
  arguments.keyword("MTU", mtu_, kMinMtu, 65535u).keyword("PMTU", path_mtu_, 0u, 65535u);
  arguments.keyword("SET_FIX_ANNO", set_fix_).keyword("CAPACITY", capacity_, 1u, 1u << 20);
  source_ = htonl(source.value), type_ = type.value;
  for (const auto& address : bad) bad_.push_back(htonl(address.value));
  if (code.empty()) return;
  code_ = icmp_code(type_, code);
  if (code_ < 0)
    arguments.error("CODE", "a code of that type, such as net, host or transit, or an integer from 0 to 255");
}

Access ICMPError::access(Processor) const {
  return {.reads = {kWholePacket},
          .writes = {{Base::head, -68, kToEnd}},
          .column_reads = columns(Column::l3, Column::link) | (type_ == kRedirect ? columns(Column::dst) : 0) |
                          (type_ == kParameterProblem ? columns(Column::icmp_param) : 0),
          .column_writes = columns(Column::dst, Column::l3, Column::l4, Column::link) | kClearedColumns};
}

std::span<const char* const> ICMPError::drop_reasons() const {
  static constexpr const char* kReasons[] = {"full",        "no_header",      "icmp_error",  "fragment",
                                             "bad_address", "link_broadcast", "no_headroom", "source_route"};
  return kReasons;
}

bool ICMPError::bad_address(uint32_t address) const {
  const uint32_t first = address & 0xff;  // as it lies in memory
  return first == 0 || first == 127 || first >= 224 || std::find(bad_.begin(), bad_.end(), address) != bad_.end();
}

int ICMPError::turn(Batch& batch, int i) {
  Packet* packet = batch.packet(i);
  uint32_t& l3 = batch.column(Column::l3)[i];
  const Ip4Header ip = ip4_header(packet, l3);
  if (!ip) return kNoHeader;
  if (const uint32_t link = batch.column(Column::link)[i]; link == 1 || link == 2) return kLinkBroadcast;
  if (!ip.first_fragment()) return kFragment;
  if (bad_address(ip.source()) || bad_address(ip.destination())) return kBadAddress;
  if (ip.at[9] == kIcmp && (ip.payload() == 0 || is_icmp_error(ip.behind()[0]))) return kIcmpError;

  const SourceRoute route = source_route_of(ip);
  if (route.option != nullptr && type_ == kRedirect) return kSourceRoute;
  const bool about_route =
      type_ == kParameterProblem && code_ == 0 && route.option != nullptr &&
      batch.column(Column::icmp_param)[i] - static_cast<uint32_t>(route.option - ip.at) < route.bytes;
  std::array<uint32_t, kMaxOptionBytes / 4> back;  // the route to the sender, as it lies in the packet
  uint32_t to = ip.source(), back_bytes = 0;
  if (route.recorded > 0 && !about_route && 4 + 4 * route.recorded <= mtu_ - kMinMtu) {
    back_bytes = 4 + 4 * route.recorded;
    uint32_t* hop = back.data();
    *hop++ = htonl(uint32_t{kNoOperation} << 24 | uint32_t{route.option[0]} << 16 | (back_bytes - 1) << 8 | 4);
    for (const uint8_t* from = route.option + 3 + 4 * (route.recorded - 1); from > route.option + 3;)
      *hop++ = load_u32(from -= 4);
    *hop = ip.source();
    to = load_u32(route.option + 3 + 4 * (route.recorded - 1));
    if (bad_address(to)) return kBadAddress;
  }
  const uint32_t ip_bytes = kIpBytes + back_bytes, header_bytes = ip_bytes + kIcmpBytes;
  if (l3 < header_bytes) return kNoHeadroom;

  const uint32_t quoted = std::min(ip.bytes + ip.payload(), mtu_ - header_bytes);
  const uint32_t bytes = header_bytes + quoted;
  l3 -= header_bytes;
  packet->data_off = static_cast<uint16_t>(l3);
  packet->data_len = static_cast<uint16_t>(bytes), packet->pkt_len = bytes;

  uint8_t* header = data(packet);
  std::memset(header, 0, header_bytes);
  std::memcpy(header + kIpBytes, back.data(), back_bytes);
  uint8_t* icmp = header + ip_bytes;
  icmp[0] = static_cast<uint8_t>(type_), icmp[1] = static_cast<uint8_t>(code_);
  if (type_ == kRedirect) store_u32(icmp + 4, batch.column(Column::dst)[i]);
  if (type_ == kParameterProblem && code_ == 0) icmp[4] = static_cast<uint8_t>(batch.column(Column::icmp_param)[i]);
  if (type_ == kUnreachable && code_ == 4) store_u16(icmp + 6, htons(static_cast<uint16_t>(path_mtu_)));
  store_u16(icmp + 2, htons(static_cast<uint16_t>(checksum_of(checksum_add(0, icmp, kIcmpBytes + quoted)))));

  header[0] = static_cast<uint8_t>(0x40 | ip_bytes / 4), header[8] = 255, header[9] = kIcmp;
  store_u16(header + 2, htons(static_cast<uint16_t>(bytes)));
  store_u16(header + 4, htons(identification_.fetch_add(1, std::memory_order_relaxed)));
  store_u32(header + 12, source_);
  store_u32(header + 16, to);
  set_ip4_header_checksum(header, ip_bytes);

  each_column(kClearedColumns & carries, [&](Column which) { batch.column(which)[i] = 0; });
  batch.column(Column::dst)[i] = to;
  batch.column(Column::l4)[i] = l3 + ip_bytes;
  batch.column(Column::fix_ip_src)[i] = set_fix_;
  return 0;
}

HEDDLE_ELEMENT(ICMPError);

}  // namespace heddle
