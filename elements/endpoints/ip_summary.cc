#include "elements/endpoints/ip_summary.h"

#include <algorithm>
#include <cstring>

#include "elements/endpoints/checksums.h"

namespace heddle::summary {
namespace {

constexpr uint32_t kVlan = 0x8100;  // EtherType of a tag (IEEE 802.1Q)

}  // namespace

View view(const Packet* packet, int ip) {
  View view;
  if (has_capture_info(packet)) view.info = capture_info(packet);
  view.frame = data(packet);
  view.frame_bytes = length(packet);
  if (ip > 0 && static_cast<uint32_t>(ip) <= view.frame_bytes &&
      (ip == 14 || (ip == 18 && get(view.frame + 12, 2) == kVlan)))
    view.ethernet = view.frame;
  if (ip < 0 || static_cast<uint32_t>(ip) + 20 > view.frame_bytes) {
    view.problem = ip < 0 ? "no IP header" : "truncated IP header";
    return view;
  }
  const uint8_t* const header = view.frame + ip;
  const uint32_t room = view.frame_bytes - static_cast<uint32_t>(ip), bytes = header_bytes(header);
  if (header[0] >> 4 != 4) {
    view.problem = "IP version not 4";
  } else if (bytes < 20 || bytes > room) {
    view.problem = "bad IP header length";
  } else if (get(header + 2, 2) < bytes) {
    view.problem = "bad IP length";
  }
  if (view.problem != nullptr) return view;
  view.ip = header;
  view.ip_bytes = std::min(room, get(header + 2, 2));
  if ((get(header + 6, 2) & kOffsetMask) != 0) return view;
  view.transport = header + bytes;
  view.transport_bytes = view.ip_bytes - bytes;
  const uint32_t wanted = header[9] == kTcp ? 20 : header[9] == kUdp || header[9] == kIcmp ? 8 : 0;
  if (view.transport_bytes < wanted) view.problem = "truncated transport header";
  return view;
}

Draft::Draft(uint8_t protocol) {
  ip[0] = 0x45;
  ip[8] = 100;
  ip[9] = protocol;
}

uint32_t Draft::transport_header_bytes() const {
  if ((get(ip.data() + 6, 2) & kOffsetMask) != 0) return 0;
  return protocol() == kTcp ? tcp_header_bytes : protocol() == kUdp || protocol() == kIcmp ? 8 : 0;
}

uint32_t Draft::build(uint8_t* to, bool checksums) const {
  const uint32_t transport_bytes = transport_header_bytes(), headers = ip_header_bytes + transport_bytes;
  const uint32_t before_payload = protocol() == kIcmp ? ip_header_bytes : headers;  // ICMP's header belongs to it
  uint32_t whole = before_payload + (has_payload_length ? payload_length : static_cast<uint32_t>(payload.size()));
  if (has_ip_length) whole = ip_length;
  const uint32_t bytes = std::min(std::max(whole, headers), kMaxPacketBytes);
  std::memset(to, 0, bytes);  // options: "end of list", which is 0 for IP and TCP
  std::memcpy(to, ip.data(), ip.size());
  std::memcpy(to + ip.size(), ip_options.data(), ip_options.size());
  to[0] = static_cast<uint8_t>(0x40 | ip_header_bytes / 4);
  uint8_t* const segment = to + ip_header_bytes;
  std::memcpy(segment, transport.data(), std::min<size_t>(transport_bytes, transport.size()));
  std::memcpy(to + before_payload, payload.data(), std::min<size_t>(payload.size(), bytes - before_payload));
  if (whole < headers && !has_ip_length) whole = headers;
  put(to + 2, 2, std::min(whole, 65535u));
  const bool has_transport = transport_bytes > 0;
  if (has_transport && protocol() == kTcp) std::memcpy(segment + 20, tcp_options.data(), tcp_options.size());
  if (has_transport && protocol() == kTcp)
    segment[12] = static_cast<uint8_t>((segment[12] & 0x0f) | tcp_header_bytes / 4 << 4);
  const uint32_t segment_bytes = bytes - ip_header_bytes;
  if (has_transport && protocol() == kUdp && get(segment + 4, 2) == 0) put(segment + 4, 2, segment_bytes);
  if (checksums) {
    if (has_transport) {
      const uint32_t at = protocol() == kTcp ? 16 : protocol() == kUdp ? 6 : 2;
      put(segment + at, 2, 0);
      put(segment + at, 2,
          protocol() == kIcmp ? checksum_of(checksum_add(0, segment, segment_bytes))
                              : transport_checksum(to, segment, segment_bytes, segment_bytes));
    }
    set_ip4_checksum(to, ip_header_bytes);
  }
  return bytes;
}

}  // namespace heddle::summary
