#include "elements/ip/transport_checksums.h"

#include <cstdio>

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

constexpr const char* kBadHeader[] = {"bad_header"};
const Access kSegment{
    .reads = {{Base::l3, 0, kToEnd}}, .writes = {{Base::l3, 20, kToEnd}}, .column_reads = columns(Column::l3)};

bool fragment(const uint8_t* ip) { return (load_u16(ip + 6) & htons(0x3fff)) != 0; }

/** Whether the sum over a segment with its pseudo header is right, its own checksum among the words. */
bool sums_up(const uint8_t* ip, const uint8_t* segment, uint32_t bytes) {
  const uint64_t pseudo = checksum_add(uint64_t{ip[9]} + bytes, ip + 12, 8);
  return checksum_of(checksum_add(pseudo, segment, bytes)) == 0;
}

}  // namespace

Access SetUDPChecksum::access(Processor) const { return kSegment; }
std::span<const char* const> SetUDPChecksum::drop_reasons() const { return kBadHeader; }

void SetUDPChecksum::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (ip && ip.fragment()) continue;
    uint8_t* udp = ip ? ip.behind() : nullptr;
    const uint32_t bytes = ip && ip.payload() >= 8 ? ntohs(load_u16(udp + 4)) : 0;
    if (bytes < 8 || ip.at[9] != kUdp || bytes > ip.payload()) {
      batch.drop(i, 0);
      continue;
    }
    store_u16(udp + 6, 0);
    store_u16(udp + 6, htons(static_cast<uint16_t>(transport_checksum(ip.at, udp, bytes, bytes))));
  }
}

void SetTCPChecksum::configure(click::Arguments& arguments) { arguments.optional("FIXOFF", fix_offset_); }
Access SetTCPChecksum::access(Processor) const { return kSegment; }
std::span<const char* const> SetTCPChecksum::drop_reasons() const { return kBadHeader; }

void SetTCPChecksum::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (ip && ip.fragment()) continue;
    if (!ip || ip.at[9] != kTcp || ip.payload() < 20) {
      batch.drop(i, 0);
      continue;
    }
    uint8_t* tcp = ip.behind();
    const uint32_t header = (tcp[12] >> 4) * 4u;
    if (fix_offset_ && (header < 20 || header > ip.payload())) tcp[12] = static_cast<uint8_t>(5 << 4 | (tcp[12] & 15));
    store_u16(tcp + 16, 0);
    store_u16(tcp + 16, htons(static_cast<uint16_t>(transport_checksum(ip.at, tcp, ip.payload(), ip.payload()))));
  }
}

void CheckTransportHeader::configure(click::Arguments& arguments) {
  arguments.keyword("CHECKSUM", checksum_).keyword("VERBOSE", verbose_).keyword("DETAILS", details_);
}

Access CheckTransportHeader::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> CheckTransportHeader::drop_reasons() const {
  static constexpr const char* kNames[kReasons] = {"not_this_protocol", "bad_length", "bad_checksum"};
  return kNames;
}

void CheckTransportHeader::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    const Reason reason = ip ? check(ip.at, ip.bytes, ip.payload()) : kBadLength;
    if (reason == kValid) continue;
    bad_[reason].fetch_add(1, std::memory_order_relaxed);
    if (verbose_) std::fprintf(stderr, "%s: header check failed: %s\n", name.c_str(), drop_reasons()[reason]);
    if (outputs > 1)
      batch.next()[i] = 1;
    else
      batch.drop(i, reason);
  }
}

void CheckTransportHeader::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(bad_[0] + bad_[1] + bad_[2]); });
  if (!details_) return;
  list.read("drop_details", [this] {
    std::string text;
    for (size_t reason = 0; reason < kReasons; ++reason)
      text += std::to_string(bad_[reason]) + "\t" + drop_reasons()[reason] + "\n";
    return text;
  });
}

CheckTransportHeader::Reason CheckTCPHeader::check(const uint8_t* ip, uint32_t header_bytes, uint32_t payload) const {
  if (ip[9] != kTcp) return kNotThisProtocol;
  if (fragment(ip)) return kValid;
  const uint8_t* tcp = ip + header_bytes;
  if (payload < 20 || (tcp[12] >> 4) * 4u < 20 || (tcp[12] >> 4) * 4u > payload) return kBadLength;
  return !checksum_ || sums_up(ip, tcp, payload) ? kValid : kBadChecksum;
}

CheckTransportHeader::Reason CheckUDPHeader::check(const uint8_t* ip, uint32_t header_bytes, uint32_t payload) const {
  if (ip[9] != kUdp) return kNotThisProtocol;
  if (fragment(ip)) return kValid;
  const uint8_t* udp = ip + header_bytes;
  const uint32_t bytes = payload < 8 ? 0 : ntohs(load_u16(udp + 4));
  if (bytes < 8 || bytes > payload) return kBadLength;
  return !checksum_ || load_u16(udp + 6) == 0 || sums_up(ip, udp, bytes) ? kValid : kBadChecksum;
}

CheckTransportHeader::Reason CheckICMPHeader::check(const uint8_t* ip, uint32_t header_bytes, uint32_t payload) const {
  if (ip[9] != kIcmp) return kNotThisProtocol;
  if (fragment(ip)) return kValid;
  const uint8_t* icmp = ip + header_bytes;
  if (payload < 8) return kBadLength;
  const uint8_t type = icmp[0];
  const bool quotes = (type >= 3 && type <= 5) || type == 11 || type == 12;  // an IPv4 header and 8 bytes (RFC 792)
  const uint32_t least = quotes ? 36 : type == 13 || type == 14 ? 20 : 8;    // 13, 14: time stamps
  if (payload < least) return kBadLength;
  return !checksum_ || checksum_of(checksum_add(0, icmp, payload)) == 0 ? kValid : kBadChecksum;
}

HEDDLE_ELEMENT(SetUDPChecksum);
HEDDLE_ELEMENT(SetTCPChecksum);
HEDDLE_ELEMENT(CheckTCPHeader);
HEDDLE_ELEMENT(CheckUDPHeader);
HEDDLE_ELEMENT(CheckICMPHeader);

}  // namespace heddle
