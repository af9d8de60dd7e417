#include "elements/ip6/ip6_encap.h"

#include <arpa/inet.h>

#include "click/arguments.h"
#include "core/error.h"
#include "elements/endpoints/checksums.h"
#include "elements/ip/encap.h"
#include "elements/ip/transport.h"
#include "elements/ip6/addresses.h"
#include "elements/ip6/header.h"

namespace heddle {
namespace {

constexpr int kHeader = kIp6HeaderBytes, kUdpBytes = 8;
constexpr int kNoDestination = kTooLong + 1;

constexpr Ip6 kNone{};
/** The address of a number; 0 is ::. */
const Ip6& address_of(uint32_t number) {
  const Ip6* address = ip6_gateways::address_of(number);
  return address == nullptr ? kNone : *address;
}

void add_address(Handlers& list, const char* name, std::atomic<uint32_t>& number) {
  list.read(name, [&number] { return to_text(address_of(number)); }).write(name, [&number](const std::string& text) {
    number = ip6_gateways::number_of(click::value_of<Ip6Argument>(text).address);
  });
}

}  // namespace

void Ip6Encapsulation::configure_destination(click::Arguments& arguments) {
  std::string text;
  arguments.required("DST", text);
  from_annotation_ = text == "DST_ANNO";
  Ip6Argument address;
  if (from_annotation_ || text.empty()) return;
  if (!arguments.read(text, address)) arguments.error("DST", "an IPv6 address or DST_ANNO");
  destination_ = ip6_gateways::number_of(address.address);
}

Access Ip6Encapsulation::column_access() const {
  return {.column_reads = from_annotation_ ? columns(Column::dst) : 0,
          .column_writes = columns(Column::dst, Column::l3, Column::l4)};
}

std::span<const char* const> Ip6Encapsulation::drop_reasons() const {
  static constexpr const char* kReasons[] = {kEncapReasons[kNoHeadroom], kEncapReasons[kTooLong], "no_destination"};
  return kReasons;
}

uint8_t* Ip6Encapsulation::encapsulate(Batch& batch, int i, const std::array<uint8_t, 8>& start, int more) {
  uint32_t& dst = batch.column(Column::dst)[i];
  if (!from_annotation_) dst = destination_.load(std::memory_order_relaxed);
  const Ip6* const destination = from_annotation_ ? ip6_gateways::address_of(dst) : &address_of(dst);
  if (destination == nullptr) {
    batch.drop(i, kNoDestination);
    return nullptr;
  }
  uint8_t* const ip = prepend(batch, i, kHeader + more);
  if (ip == nullptr) return nullptr;
  std::memcpy(ip, start.data(), start.size());
  store_u16(ip + 4, htons(static_cast<uint16_t>(batch.length(i) - kHeader)));
  std::memcpy(ip + 8, address_of(source_.load(std::memory_order_relaxed)).data(), 16);
  std::memcpy(ip + 24, destination->data(), 16);
  batch.column(Column::l3)[i] = batch.packet(i)->data_off;
  batch.column(Column::l4)[i] = batch.packet(i)->data_off + kIp6HeaderBytes;
  return ip;
}

void Ip6Encapsulation::handlers(Handlers& list) {
  add_address(list, "src", source_);
  if (!from_annotation_) return add_address(list, "dst", destination_);
  list.read("dst", [] { return "DST_ANNO"; }).write("dst", [](const std::string&) {
    throw Error("DST is DST_ANNO: the annotation says where packets go");
  });
}

void IP6Encap::configure(click::Arguments& arguments) {
  IpProtocol protocol;
  Ip6Argument source;
  uint32_t hop_limit = 250, traffic_class = 0;
  arguments.required("PROTO", protocol).required("SRC", source);
  configure_destination(arguments);
  arguments.keyword("HLIM", hop_limit, 0u, 255u).keyword("CLASS", traffic_class, 0u, 255u);
  source_ = ip6_gateways::number_of(source.address);
  start_[0] = static_cast<uint8_t>(0x60 | traffic_class >> 4);
  start_[1] = static_cast<uint8_t>(traffic_class << 4);
  start_[6] = static_cast<uint8_t>(protocol.value), start_[7] = static_cast<uint8_t>(hop_limit);
}

Access IP6Encap::access(Processor) const {
  Access access = column_access();
  access.writes = {{Base::head, -kHeader, 0}};
  return access;
}

void IP6Encap::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) encapsulate(batch, i, start_, 0);
}

void UDPIP6Encap::configure(click::Arguments& arguments) {
  Ip6Argument source;
  click::Port sport{.protocol = click::Port::kUdp}, dport = sport;
  arguments.required("SRC", source).required("SPORT", sport);
  configure_destination(arguments);
  arguments.required("DPORT", dport);
  source_ = ip6_gateways::number_of(source.address);
  source_port_ = htons(sport.number), destination_port_ = htons(dport.number);
}

Access UDPIP6Encap::access(Processor) const {
  Access access = column_access();
  access.reads = {kWholePacket};
  access.writes = {{Base::head, -kHeader - kUdpBytes, 0}};
  return access;
}

void UDPIP6Encap::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    uint8_t* const ip = encapsulate(batch, i, {0x60, 0, 0, 0, 0, 0, kUdp, 250}, kUdpBytes);
    if (ip == nullptr) continue;
    const uint32_t bytes = batch.length(i) - kIp6HeaderBytes;
    uint8_t* const udp = ip + kHeader;
    store_u16(udp, source_port_.load(std::memory_order_relaxed));
    store_u16(udp + 2, destination_port_.load(std::memory_order_relaxed));
    store_u16(udp + 4, htons(static_cast<uint16_t>(bytes)));
    store_u16(udp + 6, 0);
    store_u16(udp + 6, htons(static_cast<uint16_t>(udp6_checksum(ip, udp, bytes, bytes))));
  }
}

void UDPIP6Encap::handlers(Handlers& list) {
  Ip6Encapsulation::handlers(list);
  add_port(list, "sport", source_port_);
  add_port(list, "dport", destination_port_);
}

HEDDLE_ELEMENT(IP6Encap);
HEDDLE_ELEMENT(UDPIP6Encap);

}  // namespace heddle
