#include "functions/nids/tcp_checksum.h"

#include <arpa/inet.h>

#include <cstring>

#include "core/load.h"
#include "elements/ip6/header.h"

namespace heddle::nids {
namespace {

/** As words of memory order: whether a sum is right does not depend on the order (RFC 1071, 2). */
uint64_t sum_of(const uint8_t* at, uint32_t bytes) {
  uint64_t sum = 0;
  for (; bytes >= 4; at += 4, bytes -= 4) sum += load_u32(at);
  uint32_t rest = 0;
  std::memcpy(&rest, at, bytes);
  return sum + rest;
}

bool is_fragment(const View& view) {
  if (!view.is_ip6) return (load_u16(view.network + 6) & htons(0x3fff)) != 0;
  return view.fragment != nullptr && (load_u16(view.fragment + 2) & htons(0xfff9)) != 0;
}

bool has_routing_header(const View& view) {
  if (!view.is_ip6) return false;
  uint8_t next = view.network[6];
  for (const uint8_t* at = view.network + kIp6HeaderBytes; at < view.transport;) {
    if (next == ip6::kRouting) return true;
    const uint32_t bytes = ip6::extension_bytes(next, at);
    next = *at;
    at += bytes;
  }
  return false;
}

}  // namespace

bool checksum_may_be_right(const View& view) {
  const auto before = static_cast<uint32_t>(view.transport - view.network);
  const auto there = static_cast<uint32_t>(view.payload.data() + view.payload.size() - view.transport);
  const uint32_t said =
      view.is_ip6 ? kIp6HeaderBytes + ntohs(load_u16(view.network + 4)) : ntohs(load_u16(view.network + 2));
  if (said <= before || said - before > there || is_fragment(view) || has_routing_header(view)) return true;
  const uint32_t bytes = said - before;
  uint64_t sum = view.is_ip6 ? sum_of(view.network + 8, 32) : sum_of(view.network + 12, 8);
  sum += htonl(bytes);
  sum += htons(view.number);
  sum += sum_of(view.transport, bytes);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

}  // namespace heddle::nids
