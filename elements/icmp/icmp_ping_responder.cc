#include "elements/icmp/icmp_ping_responder.h"

#include <arpa/inet.h>

#include "elements/icmp/icmp_names.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

/** Of one host; network byte order. */
bool is_of_host(uint32_t address) {
  const uint32_t value = ntohl(address);
  return value != 0 && value >> 28 < 14;  // neither multicast nor reserved, to which the broadcast belongs
}

}  // namespace

Access ICMPPingResponder::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}}, .writes = {{Base::l3, 8, kToEnd}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> ICMPPingResponder::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_ping", "no_header", "fragment", "bad_address"};
  return kReasons;
}

void ICMPPingResponder::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    const bool ping = ip && ip.at[9] == kIcmp && ip.payload() >= 8 && ip.behind()[0] == kEcho;
    const bool answers = ping && !ip.fragment() && is_of_host(ip.source()) && is_of_host(ip.destination());
    if (!answers) {
      if (outputs > 1)
        batch.next()[i] = 1;
      else if (ping && !ip.fragment())
        batch.drop(i, kBadAddress);
      else
        batch.drop(i, !ip ? kNoHeader : ping || (ip.at[9] == kIcmp && ip.fragment()) ? kFragment : kNotPing);
      continue;
    }
    uint8_t* icmp = ip.behind();
    rewrite_u16(icmp, load_u16(icmp) & htons(0x00ff), icmp + 2);  // type 0, the code as it is
    keep_icmp_checksum(ip);
    const uint32_t source = ip.source(), destination = ip.destination();
    store_u32(ip.at + 12, destination);
    store_u32(ip.at + 16, source);
    rewrite_u16(ip.at + 8, static_cast<uint16_t>(load_u16(ip.at + 8) | htons(0xff00)), ip.at + 10);
    batch.column(Column::dst)[i] = source;
  }
}

HEDDLE_ELEMENT(ICMPPingResponder);

}  // namespace heddle
