#include "elements/ip6/ip6_reassembler.h"

#include <arpa/inet.h>

#include "core/load.h"
#include "elements/ip/marked_header.h"
#include "elements/ip6/fragments.h"

namespace heddle {
namespace {

constexpr uint8_t kEcnMask = 0x30;  // in byte 1; all bits of CE

/** Headers from an IPv6 header on, up to the first Fragment header or to what is no extension header, or is cut off. */
struct KeptHeaders {
  uint32_t bytes = kIp6HeaderBytes;
  uint32_t next_at = 6;  ///< which byte says what follows
};

/** Those of the packet at `ip`, of `end` bytes, 40 or more. */
KeptHeaders kept_headers(const uint8_t* ip, uint32_t end) {
  KeptHeaders headers;
  for (;;) {
    const uint8_t next = ip[headers.next_at];
    if (!ip6::is_extension(next) || next == ip6::kFragment || end - headers.bytes < 8) return headers;
    const uint32_t bytes = ip6::extension_bytes(next, ip + headers.bytes);
    if (bytes > end - headers.bytes) return headers;
    headers = {headers.bytes + bytes, headers.bytes};
  }
}

/** What follows a Fragment header at byte `at` of the packet at `ip`, of `end` bytes, where the beginning does. */
ip6::Behind behind_fragment_header(const uint8_t* ip, uint32_t at, uint32_t end) {
  const auto load = [&](uint32_t place) { return load_u32(ip + place); };
  return ip6::behind_extensions(ip[at], at + ip6::kFragmentBytes, end, load);
}

/** Whether all headers are there, and the first byte of a protocol that is not known (RFC 7112). */
bool has_header_chain(const uint8_t* ip, const ip6::Behind& behind, uint32_t end) {
  if (ip6::is_extension(behind.number)) return false;
  if (behind.number == ip6::kNoNextHeader) return true;
  const uint32_t room = end - behind.at;
  return room >= std::max(1u, ip6::upper_layer_bytes(behind.number, ip + behind.at, room));
}

}  // namespace

void IP6Reassembler::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t room = bytes_from(batch.packet(i), l3[i]);
    if (room < kIp6HeaderBytes) {
      batch.drop(i, kNoHeader);
      continue;
    }
    batch.column(Column::l4)[i] = l3[i] + kIp6HeaderBytes;
    const uint8_t* const ip = marked_header(batch.packet(i), l3[i]);
    if (!ip6::is_extension(ip[6])) [[likely]]
      continue;
    const KeptHeaders headers = kept_headers(ip, std::min(room, kIp6HeaderBytes + ntohs(load_u16(ip + 4))));
    if (ip[headers.next_at] == ip6::kFragment) take_fragment(batch, i, headers.bytes);
  }
}

void IP6Reassembler::take_fragment(Batch& batch, int i, uint32_t header_bytes) {
  Packet* const packet = batch.packet(i);
  const uint32_t l3 = batch.column(Column::l3)[i], part_at = header_bytes + ip6::kFragmentBytes;
  const uint8_t* const ip = marked_header(packet, l3);
  const uint32_t end = kIp6HeaderBytes + ntohs(load_u16(ip + 4));
  if (part_at > end || end > bytes_from(packet, l3)) return batch.drop(i, kBadFragment);
  const uint8_t* const header = ip + header_bytes;
  const uint16_t field = ntohs(load_u16(header + 2));
  const uint32_t from = field & 0xfff8u;  // units of 8 bytes, which stand 3 bits further up
  const bool last = (field & ip6::kMore) == 0;
  const auto ecn = static_cast<uint8_t>((ip[1] & kEcnMask) >> 4);
  const Fragment fragment{packet, l3, header_bytes, part_at, from, end - part_at, ecn};
  if (from == 0) {
    const ip6::Behind behind = behind_fragment_header(ip, header_bytes, end);
    if (behind.fragment != 0) return batch.drop(i, kBadFragment);
    if (last) return take_alone(batch, i, fragment);
    if (!has_header_chain(ip, behind, end)) return batch.drop(i, kHeaderChain);
  }
  Key key;
  for (size_t word = 0; word < 4; ++word) key[word] = load_u64(ip + 8 + 8 * word);
  key[4] = load_u32(header + 4);
  take_in(batch, i, key, fragment, last);
}

void IP6Reassembler::make_whole(uint8_t* ip, const uint8_t* first, uint32_t header_bytes, uint32_t bytes,
                                bool congested) const {
  if (congested) ip[1] |= kEcnMask;
  ip[kept_headers(first, header_bytes).next_at] = first[header_bytes];
  store_u16(ip + 4, htons(static_cast<uint16_t>(header_bytes - kIp6HeaderBytes + bytes)));
}

uint32_t IP6Reassembler::transport_at(const uint8_t*) const { return kIp6HeaderBytes; }

HEDDLE_ELEMENT(IP6Reassembler);

}  // namespace heddle
