#include "elements/endpoints/ip_summary.h"

#include <algorithm>
#include <cstring>

#include "elements/endpoints/checksums.h"

namespace heddle::summary {

View view(const Packet* packet, int ip) {
  View view;
  if (has_capture_info(packet)) view.info = capture_info(packet);
  view.frame = data(packet);
  view.frame_bytes = length(packet);
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
  return protocol() == kTcp ? 20 : protocol() == kUdp || protocol() == kIcmp ? 8 : 0;
}

uint32_t Draft::build(uint8_t* to, bool checksums) const {
  const uint32_t headers = 20 + transport_header_bytes();
  uint32_t whole = headers + (has_payload_length ? payload_length : static_cast<uint32_t>(payload.size()));
  if (has_ip_length) whole = ip_length;
  const uint32_t bytes = std::min(std::max(whole, headers), kMaxPacketBytes);
  std::memset(to, 0, bytes);
  std::memcpy(to, ip.data(), 20);
  std::memcpy(to + 20, transport.data(), headers - 20);
  std::memcpy(to + headers, payload.data(), std::min<size_t>(payload.size(), bytes - headers));
  if (whole < headers && !has_ip_length) whole = headers;
  put(to + 2, 2, whole);
  uint8_t* const segment = to + 20;
  if (headers > 20 && protocol() == kTcp) segment[12] = static_cast<uint8_t>((segment[12] & 0x0f) | 0x50);
  if (headers > 20 && protocol() == kUdp && get(segment + 4, 2) == 0) put(segment + 4, 2, bytes - 20);
  if (checksums) {
    if (headers > 20) {
      const uint32_t at = protocol() == kTcp ? 16 : protocol() == kUdp ? 6 : 2;
      put(segment + at, 2, 0);
      put(segment + at, 2,
          protocol() == kIcmp ? checksum_of(checksum_add(0, segment, bytes - 20))
                              : transport_checksum(to, segment, bytes - 20, bytes - 20));
    }
    set_ip4_checksum(to, 20);
  }
  return bytes;
}

}  // namespace heddle::summary
