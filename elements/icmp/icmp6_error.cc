#include "elements/icmp/icmp6_error.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/clock.h"
#include "elements/icmp/icmp_names.h"
#include "elements/ip/marked_header.h"
#include "elements/ip6/icmp6.h"

namespace heddle {
namespace {

constexpr uint32_t kIcmp6Bytes = 8, kMinMtu6 = 1280;

constexpr IcmpName kIcmp6Types[] = {{kIcmp6Unreachable, 0, "unreachable"},
                                    {kIcmp6TooBig, 0, "packettoobig"},
                                    {kIcmp6TimeExceeded, 0, "timeexceeded"},
                                    {kIcmp6ParameterProblem, 0, "parameterproblem"}};
constexpr int kOption = 2;
constexpr IcmpName kIcmp6Codes[] = {{kIcmp6Unreachable, 0, "noroute"},
                                    {kIcmp6Unreachable, 1, "prohibited"},
                                    {kIcmp6Unreachable, 2, "beyondscope"},
                                    {kIcmp6Unreachable, 3, "address"},
                                    {kIcmp6Unreachable, 4, "port"},
                                    {kIcmp6Unreachable, 5, "policy"},
                                    {kIcmp6Unreachable, 6, "reject"},
                                    {kIcmp6TimeExceeded, 0, "transit"},
                                    {kIcmp6TimeExceeded, 1, "reassembly"},
                                    {kIcmp6ParameterProblem, 0, "header"},
                                    {kIcmp6ParameterProblem, 1, "nextheader"},
                                    {kIcmp6ParameterProblem, kOption, "option"}};

/** Argument TYPE. */
struct Icmp6Type {
  int value = 0;
};
bool parse(std::string_view text, Icmp6Type& type) {
  for (const IcmpName& name : kIcmp6Types)
    if (text == name.text) type.value = name.type;
  return type.value != 0 || click::parse(text, type.value, 1, 4);
}
std::string expectation(const Icmp6Type&) {
  return "unreachable, packettoobig, timeexceeded, parameterproblem or one of their numbers, 1 to 4";
}

/** Whether a packet of `bytes` is an ICMPv6 error or redirect, or may be one. */
bool may_be_error(const uint8_t* ip, uint32_t bytes) {
  uint8_t next = ip[6];
  uint32_t at = kIp6HeaderBytes;
  while (ip6::is_extension(next)) {
    if (at + 8 > bytes) return true;
    const bool later_fragment = next == ip6::kFragment && (ntohs(load_u16(ip + at + 2)) & 0xfff8) != 0;
    const uint32_t size = ip6::extension_bytes(next, ip + at);
    next = ip[at];
    if (later_fragment) return next == kIcmp6;
    at += size;
  }
  return next == kIcmp6 && (at >= bytes || ip[at] < kIcmp6Informational || ip[at] == kIcmp6Redirect);
}

}  // namespace

void ICMP6Error::configure(click::Arguments& arguments) {
  Ip6Argument source;
  Icmp6Type type;
  std::string code;
  uint32_t rate = 100, burst = 10;
  arguments.required("SRC", source).required("TYPE", type).optional("CODE", code).optional("BADADDRS", bad_);
  arguments.keyword("MTU", mtu_, kIp6HeaderBytes + kIcmp6Bytes + kIp6HeaderBytes, 65535u);
  arguments.keyword("PMTU", path_mtu_, kMinMtu6, 65535u).keyword("POINTER", pointer_, 0u, 65535u);
  arguments.keyword("RATE", rate, 0u, 1'000'000'000u).keyword("BURST", burst, 1u, 1u << 20);
  arguments.keyword("CAPACITY", capacity_, 1u, 1u << 20);
  source_ = source.address, type_ = type.value;
  interval_ns_ = rate == 0 ? 0 : 1'000'000'000 / rate;
  burst_ns_ = interval_ns_ * (burst - 1);
  if (type_ == kIcmp6TooBig && path_mtu_ == 0) path_mtu_ = kMinMtu6;
  if (code.empty()) return;
  code_ = icmp_code(kIcmp6Codes, type_, code);
  if (code_ < 0)
    arguments.error("CODE", "a code of that type, such as noroute, transit or option, or an integer from 0 to 255");
}

Access ICMP6Error::access(Processor) const {
  return {.reads = {kWholePacket},
          .writes = {{Base::head, -48, kToEnd}},
          .column_reads = columns(Column::l3, Column::link),
          .column_writes = columns(Column::dst, Column::l3, Column::l4, Column::link) | kClearedColumns};
}

std::span<const char* const> ICMP6Error::drop_reasons() const {
  static constexpr const char* kReasons[] = {"full",        "no_header",    "icmp_error", "multicast",
                                             "bad_address", "rate_limited", "no_headroom"};
  return kReasons;
}

bool ICMP6Error::bad_address(const uint8_t* address) const {
  const bool nearly_zero = load_u64(address) == 0 && load_u32(address + 8) == 0 && load_u16(address + 12) == 0;
  return (nearly_zero && address[14] == 0 && address[15] <= 1) || bad_.contain(address);
}

bool ICMP6Error::to_multicast() const {
  return type_ == kIcmp6TooBig || (type_ == kIcmp6ParameterProblem && code_ == kOption);
}

bool ICMP6Error::allowed() {
  if (interval_ns_ == 0) return true;
  const int64_t now = RouterClock::now().time_since_epoch().count();
  int64_t until = spent_until_ns_.load(std::memory_order_relaxed);
  do {
    if (until - now > burst_ns_) return false;
  } while (
      !spent_until_ns_.compare_exchange_weak(until, std::max(until, now) + interval_ns_, std::memory_order_relaxed));
  return true;
}

int ICMP6Error::turn(Batch& batch, int i) {
  Packet* packet = batch.packet(i);
  uint32_t& l3 = batch.column(Column::l3)[i];
  const uint32_t room = bytes_from(packet, l3);
  const uint8_t* cause = marked_header(packet, l3);
  if (room < kIp6HeaderBytes || cause[0] >> 4 != 6) return kNoHeader;
  const uint8_t *sender = cause + 8, *destination = cause + 24;
  const uint32_t link = batch.column(Column::link)[i];
  if ((link == 1 || link == 2 || destination[0] == 0xff) && !to_multicast()) return kMulticast;
  if (sender[0] == 0xff || bad_address(sender) || bad_address(destination)) return kBadAddress;
  const uint32_t cause_bytes = std::min(room, kIp6HeaderBytes + ntohs(load_u16(cause + 4)));
  if (may_be_error(cause, cause_bytes)) return kIcmpError;
  if (l3 < kIp6HeaderBytes + kIcmp6Bytes) return kNoHeadroom;
  if (!allowed()) return kRateLimited;

  const uint32_t payload = std::min(kIcmp6Bytes + cause_bytes, mtu_ - kIp6HeaderBytes);
  Ip6 to;
  std::memcpy(to.data(), sender, to.size());
  l3 -= kIp6HeaderBytes + kIcmp6Bytes;
  packet->data_off = static_cast<uint16_t>(l3);
  packet->data_len = static_cast<uint16_t>(kIp6HeaderBytes + payload), packet->pkt_len = packet->data_len;

  uint8_t* header = data(packet);
  std::memset(header, 0, kIp6HeaderBytes + kIcmp6Bytes);
  header[0] = 0x60, header[6] = kIcmp6, header[7] = 255;
  store_u16(header + 4, htons(static_cast<uint16_t>(payload)));
  std::memcpy(header + 8, source_.data(), source_.size());
  std::memcpy(header + 24, to.data(), to.size());
  uint8_t* icmp = header + kIp6HeaderBytes;
  icmp[0] = static_cast<uint8_t>(type_), icmp[1] = static_cast<uint8_t>(code_);
  store_u32(icmp + 4, htonl(type_ == kIcmp6TooBig ? path_mtu_ : type_ == kIcmp6ParameterProblem ? pointer_ : 0));
  store_u16(icmp + 2, htons(static_cast<uint16_t>(icmp6_checksum(header, payload))));

  each_column(kClearedColumns & carries, [&](Column which) { batch.column(which)[i] = 0; });
  batch.column(Column::dst)[i] = 0;
  batch.column(Column::l4)[i] = l3 + kIp6HeaderBytes;
  return 0;
}

HEDDLE_ELEMENT(ICMP6Error);

}  // namespace heddle
