#include "elements/endpoints/rip_send.h"

#include <arpa/inet.h>

#include <algorithm>

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

constexpr auto kFirst = std::chrono::seconds(3), kInterval = std::chrono::seconds(30);
constexpr uint16_t kPort = 520, kInet = 2;
constexpr uint8_t kResponse = 2, kVersion = 2;

}  // namespace

void RIPSend::configure(click::Arguments& arguments) {
  click::Ipv4Address source, destination;
  click::Ipv4Prefix route;
  uint32_t metric = 1;
  int64_t limit = limit_;
  bool active = active_;
  arguments.required("SRC", source).required("DST", destination).required("WHAT/MASK", route);
  arguments.required("METRIC", metric, 1u, 16u).keyword("LIMIT", limit).keyword("ACTIVE", active);
  configure_end(arguments);
  limit_ = limit, active_ = active;

  uint8_t *const ip = packet_.data(), *const udp = ip + 20, *const rip = udp + 8;
  ip[0] = 0x45, ip[8] = 200, ip[9] = kUdp;
  store_u16(ip + 2, htons(kBytes));
  store_u32(ip + 12, htonl(source.value));
  store_u32(ip + 16, htonl(destination.value));
  set_ip4_checksum(ip, 20);
  rip[0] = kResponse, rip[1] = kVersion;
  store_u16(rip + 4, htons(kInet));
  store_u32(rip + 8, htonl(route.address));
  store_u32(rip + 12, route.length == 0 ? 0 : htonl(~uint32_t{0} << (32 - route.length)));
  store_u32(rip + 16, htonl(source.value));  // the next hop
  store_u32(rip + 20, htonl(metric));
  store_u16(udp, htons(kPort));
  store_u16(udp + 2, htons(kPort));
  store_u16(udp + 4, htons(kBytes - 20));
  store_u16(udp + 6, htons(static_cast<uint16_t>(transport_checksum(ip, udp, kBytes - 20, kBytes - 20))));
}

Access RIPSend::access(Processor) const { return {.column_writes = columns(Column::dst, Column::l3, Column::l4)}; }

void RIPSend::receive(Batch& batch) {
  if (next_ == RouterClock::time_point{}) next_ = RouterClock::now() + kFirst;
  if (!RouterClock::reached(next_)) return;
  next_ = RouterClock::now() + kInterval;
  const int first = batch.size(), n = append_packets(batch, allowed(1), kBytes);
  for (int i = first; i < first + n; ++i) {
    std::ranges::copy(packet_, batch.frame(i));
    batch.column(Column::dst)[i] = load_u32(packet_.data() + 16);
    batch.column(Column::l3)[i] = batch.packet(i)->data_off;
    batch.column(Column::l4)[i] = batch.packet(i)->data_off + 20u;
  }
}

HEDDLE_ELEMENT(RIPSend);

}  // namespace heddle
