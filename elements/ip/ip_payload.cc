#include "elements/ip/ip_payload.h"

#include <cstring>

#include "click/arguments.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

/** Bytes from the start of the IPv4 header to the end of the transport header behind it, at most to the packet's end; a
 *  TCP header that says less than 20 bytes has 20. */
uint32_t header_bytes(const Ip4Header& ip) {
  if (!ip.first_fragment()) return ip.bytes;
  uint32_t transport = 0;
  if (ip.at[9] == kTcp) transport = ip.room > ip.bytes + 12 ? std::max((ip.behind()[12] >> 4) * 4u, 20u) : 20;
  if (ip.at[9] == kUdp || ip.at[9] == kIcmp) transport = 8;
  return std::min(ip.bytes + transport, ip.room);
}

}  // namespace

Access EraseIPPayload::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}}, .writes = {{Base::l3, 20, kToEnd}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> EraseIPPayload::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_header"};
  return kReasons;
}

void EraseIPPayload::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip) {
      batch.drop(i, 0);
    } else if (ip.at[9] == kTcp || ip.at[9] == kUdp) {
      const uint32_t headers = header_bytes(ip);
      std::memset(ip.at + headers, 0, ip.room - headers);
    }
  }
}

void TruncateIPPayload::configure(click::Arguments& arguments) {
  arguments.optional("LENGTH", bytes_, 0u, 65535u).optional("TRANSPORT", transport_);
  arguments.keyword("EXTRA_LENGTH", extra_length_);
}

Access TruncateIPPayload::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}}, .column_reads = columns(Column::l3)};
}

void TruncateIPPayload::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    uint32_t keeps = bytes_;
    if (const Ip4Header ip = ip4_header(packet, l3[i]))
      keeps += length(packet) - ip.room + (transport_ ? header_bytes(ip) : ip.bytes);
    if (length(packet) <= keeps) continue;
    const uint32_t cut = length(packet) - keeps;
    if (extra_length_ && has_capture_info(packet)) {
      CaptureInfo info = capture_info(packet);
      info.missing_bytes += cut;
      set_capture_info(packet, info);
    }
    move_tail(packet, -static_cast<int>(cut));
  }
}

HEDDLE_ELEMENT(EraseIPPayload);
HEDDLE_ELEMENT(TruncateIPPayload);

}  // namespace heddle
