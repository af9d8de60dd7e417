#include "functions/ipsec/headers.h"

#include <cstring>

#include "core/checksum.h"
#include "core/load.h"

namespace heddle::ipsec {
namespace {

/** Whether a packet goes to the association's other end. */
bool goes_to(const Association& keys, const Details& sa, const uint8_t* packet) {
  if ((packet[0] >> 4 == 6) != sa.ip6) return false;
  return sa.ip6 ? std::memcmp(packet + 24, sa.destination6, 16) == 0 : load_u32(packet + 16) == keys.destination;
}

}  // namespace

void detail::keep_headers(const Association& keys, const Details& sa, const uint8_t* packet, Plain& plain) {
  if (!goes_to(keys, sa, packet)) {
    plain.reason = kNoSa;
  } else if (!sa.ip6) {
    plain.kept = (packet[0] & 15) * 4u;
    plain.next_at = 9;
    plain.inner.next_header = packet[9];
    if (is_fragment4(packet)) plain.reason = kFragment;
  } else {
    const Extensions e = extensions_of(packet, plain.inner.bytes);
    plain.kept = e.kept, plain.next_at = e.kept_next_at, plain.inner.next_header = e.kept_protocol;
    if (e.cut || e.protocol == kFragmentHeader) plain.reason = e.cut ? kMalformed : kFragment;
  }
}

void detail::write_outer6(uint8_t* at, const Association& keys, const Details& sa, const Inner& inner, uint32_t bytes) {
  constexpr uint32_t kHopLimit = 64;
  store_u32(at, swapped(6u << 28 | outer_tos(keys, inner) << 20));
  store_u32(at + 4, swapped(bytes << 16 | uint32_t{kProtocolEsp} << 8 | kHopLimit));
  std::memcpy(at + 8, sa.source6, 16);
  std::memcpy(at + 24, sa.destination6, 16);
}

void change_header(uint8_t* header, uint32_t header_bytes, uint32_t next_at, uint32_t protocol, uint32_t bytes) {
  header[next_at] = static_cast<uint8_t>(protocol);
  if (header[0] >> 4 == 6) {
    store_u16(header + 4, static_cast<uint16_t>(swapped16(header_bytes - kIp6Bytes + bytes)));
    return;
  }
  store_u16(header + 2, static_cast<uint16_t>(swapped16(header_bytes + bytes)));
  store_u16(header + 10, 0);
  store_u16(header + 10, ip4_checksum(header, header_bytes));
}

void write_udp(uint8_t* at, const Details& sa, uint32_t bytes) {
  store_u16(at, sa.source_port);
  store_u16(at + 2, sa.destination_port);
  store_u32(at + 4, swapped16(8 + bytes));  // no checksum
}

}  // namespace heddle::ipsec
