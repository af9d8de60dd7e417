#include "elements/ip6/ip6_mirror.h"

#include <arpa/inet.h>

#include <algorithm>

#include "click/arguments.h"
#include "elements/ip/transport.h"
#include "elements/ip6/header.h"

namespace heddle {
namespace {

constexpr const char* kReasons[] = {"no_header"};

/** The ports of TCP or UDP in the `room` bytes of a packet from its IPv6 header on; null: there are none. */
uint8_t* ports_of(uint8_t* ip, uint32_t room) {
  uint32_t at = kIp6HeaderBytes;
  for (uint8_t next = ip[6];;) {
    if (next == kTcp || next == kUdp) return room >= at + 8 ? ip + at : nullptr;
    if (!ip6::is_extension(next) || room < at + 8) return nullptr;
    if (next == ip6::kFragment && (load_u16(ip + at + 2) & htons(0xfff8)) != 0) return nullptr;
    const uint32_t bytes = ip6::extension_bytes(next, ip + at);
    next = ip[at];
    at += bytes;
  }
}

}  // namespace

Access IP6Mirror::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}}, .writes = {{Base::l3, 8, kToEnd}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> IP6Mirror::drop_reasons() const { return kReasons; }

void IP6Mirror::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t room = bytes_from(batch.packet(i), l3[i]);
    if (room < kIp6HeaderBytes) {
      batch.drop(i, 0);
      continue;
    }
    uint8_t* const ip = marked_header(batch.packet(i), l3[i]);
    std::swap_ranges(ip + 8, ip + 24, ip + 24);
    const uint32_t said = kIp6HeaderBytes + ntohs(load_u16(ip + 4));
    if (uint8_t* const ports = ports_of(ip, std::min(room, said))) std::swap_ranges(ports, ports + 2, ports + 2);
  }
}

void SetIP6DSCP::configure(click::Arguments& arguments) {
  uint32_t dscp = 0;
  arguments.required("DSCP", dscp, 0u, 63u);
  dscp_ = dscp;
}

Access SetIP6DSCP::access(Processor) const {
  return {.reads = {{Base::l3, 0, 2}}, .writes = {{Base::l3, 0, 2}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> SetIP6DSCP::drop_reasons() const { return kReasons; }

void SetIP6DSCP::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const uint32_t dscp = dscp_.load(std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i) {
    if (bytes_from(batch.packet(i), l3[i]) < kIp6HeaderBytes) {
      batch.drop(i, 0);
      continue;
    }
    // Version, traffic class and flow label: 4, 8 and 20 bits, of which the DSCP is bits 4 to 9.
    uint8_t* const ip = marked_header(batch.packet(i), l3[i]);
    ip[0] = static_cast<uint8_t>((ip[0] & 0xf0) | dscp >> 2);
    ip[1] = static_cast<uint8_t>((ip[1] & 0x3f) | dscp << 6);
  }
}

void SetIP6DSCP::handlers(Handlers& list) {
  list.read("dscp", [this] { return std::to_string(dscp_.load()); }).write("dscp", [this](const std::string& text) {
    dscp_ = click::value_of<uint32_t>(text, 0u, 63u);
  });
}

HEDDLE_ELEMENT(IP6Mirror);
HEDDLE_ELEMENT(SetIP6DSCP);

}  // namespace heddle
