#include "elements/ip6/ip6_fragmenter.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "click/arguments.h"
#include "elements/ip6/fragments.h"

namespace heddle {
namespace {

constexpr uint32_t kPlaces = 0x2000;

/** The headers of a packet, as its fragments want to know them; bytes from its IPv6 header on. */
struct Headers {
  uint32_t kept = kIp6HeaderBytes;        ///< those that each fragment has
  uint32_t next_at = 6;                   ///< what says which header follows these
  uint32_t payload_at = kIp6HeaderBytes;  ///< where what is divided begins
  uint32_t end = kIp6HeaderBytes;         ///< of the headers that the first fragment has to have
  bool fragment = false;                  ///< the packet is one, whose Fragment header is behind `kept`
};

/** Reads the headers at `ip`, of which `room` bytes, 40 or more, are there. False if they do not end within these. */
bool read_headers(const uint8_t* ip, uint32_t room, Headers& headers) {
  uint32_t at = kIp6HeaderBytes, next_at = 6;
  for (; ip6::is_extension(ip[next_at]); next_at = at, at = headers.end) {
    const uint8_t next = ip[next_at];
    if (at + ip6::kFragmentBytes > room) return false;
    headers.end = at + ip6::extension_bytes(next, ip + at);
    if (headers.end > room) return false;
    if (headers.fragment) continue;
    if (next == ip6::kFragment) {
      headers.fragment = true;
      headers.kept = at, headers.next_at = next_at, headers.payload_at = headers.end;
      if ((ntohs(load_u16(ip + at + 2)) & 0xfff8) != 0) return true;  // what follows is no header
    } else if (next == ip6::kHopByHop || next == ip6::kRouting) {
      headers.kept = headers.payload_at = headers.end, headers.next_at = at;
    }
  }
  headers.end = std::min(room, at + ip6::upper_layer_bytes(ip[next_at], ip + at, room - at));
  return true;
}

/** The same of a packet that has been kept. */
Headers headers_of(const uint8_t* ip) {
  Headers headers;
  read_headers(ip, kIp6HeaderBytes + ntohs(load_u16(ip + 4)), headers);
  return headers;
}

/** Place, in units of 8 bytes, and flags of the Fragment header at `at`. */
uint16_t fragment_field(const uint8_t* at) { return ntohs(load_u16(at + 2)); }

/** Bytes of the first fragment's headers and of the part that it has to have. */
uint32_t least_bytes(const Headers& headers) {
  const uint32_t part = std::max(8u, (headers.end - headers.payload_at + 7) / 8 * 8);
  return headers.kept + ip6::kFragmentBytes + part;
}

/** Whether the packet's payload, of `bytes`, is one that a packet or fragment can have. */
bool possible_payload(const uint8_t* ip, const Headers& headers, uint32_t bytes) {
  if (!headers.fragment) return true;
  const uint16_t field = fragment_field(ip + headers.kept);
  return (field >> 3) + (bytes + 7) / 8 <= kPlaces && ((field & ip6::kMore) == 0 || bytes % 8 == 0);
}

}  // namespace

void IP6Fragmenter::configure(click::Arguments& arguments) {
  arguments.required("MTU", mtu_, kIp6HeaderBytes + 2 * ip6::kFragmentBytes, 65535u);
}

void IP6Fragmenter::start(const Environment& environment) {
  Fragmenter::start(environment);
  first_identification_ = static_cast<uint32_t>(environment.seed_of(*this, 0));
}

uint32_t IP6Fragmenter::transport_at(const uint8_t*) const { return kIp6HeaderBytes; }

void IP6Fragmenter::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t* l4 = batch.column(Column::l4);
  const bool wants_l4 = this->wants_l4();
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t room = bytes_from(batch.packet(i), l3[i]);
    if (room < kIp6HeaderBytes) {
      batch.drop(i, kNoHeader);
      continue;
    }
    if (wants_l4) l4[i] = l3[i] + kIp6HeaderBytes;
    if (room <= mtu_) [[likely]]
      continue;
    const uint8_t* const ip = marked_header(batch.packet(i), l3[i]);
    Headers headers;
    if (kIp6HeaderBytes + ntohs(load_u16(ip + 4)) != room) {
      batch.drop(i, kBadLength);
    } else if (!read_headers(ip, room, headers) || least_bytes(headers) > mtu_) {
      refuse(batch, i, kNoRoom);
    } else if (!possible_payload(ip, headers, room - headers.payload_at)) {
      batch.drop(i, kBadLength);
    } else {
      keep(batch, i);
    }
  }
}

IP6Fragmenter::Division IP6Fragmenter::divide(const uint8_t* ip, uint32_t) const {
  const Headers headers = headers_of(ip);
  return {headers.kept + ip6::kFragmentBytes, headers.payload_at};
}

void IP6Fragmenter::write_headers(uint8_t* to, const uint8_t* ip, const Division& division, const Piece& piece) const {
  const Headers headers = headers_of(ip);
  const uint8_t* const given = headers.fragment ? ip + headers.kept : nullptr;
  const uint32_t place = piece.done / 8 + (given == nullptr ? 0 : fragment_field(given) >> 3);
  const bool more = !piece.last || (given != nullptr && (fragment_field(given) & ip6::kMore) != 0);
  uint8_t* const fragment = to + headers.kept;
  std::memcpy(to, ip, headers.kept);
  to[headers.next_at] = ip6::kFragment;
  store_u16(to + 4, htons(static_cast<uint16_t>(division.header_bytes - kIp6HeaderBytes + piece.bytes)));
  fragment[0] = given == nullptr ? ip[headers.next_at] : given[0];
  fragment[1] = 0;
  store_u16(fragment + 2, htons(static_cast<uint16_t>(place << 3 | (more ? ip6::kMore : 0))));
  store_u32(fragment + 4, given == nullptr ? htonl(first_identification_ + piece.number) : load_u32(given + 4));
}

HEDDLE_ELEMENT(IP6Fragmenter);

}  // namespace heddle
