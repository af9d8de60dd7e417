#include "elements/ip/ip_reassembler.h"

#include "elements/ip/header.h"

namespace heddle {
namespace {

constexpr uint32_t kMore = 0x2000, kOffsetMask = 0x1fff;
constexpr uint8_t kEcnMask = 3;  // all bits of CE

}  // namespace

std::span<const char* const> IPReassembler::drop_reasons() const {
  return Reassembler::drop_reasons().first(kHeaderChain);
}

void IPReassembler::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip) {
      batch.drop(i, kNoHeader);
    } else if (ip.fragment()) [[unlikely]] {
      const uint32_t word = ntohs(load_u16(ip.at + 6));
      const Key key{uint64_t{ip.source()} << 32 | ip.destination(), uint64_t{ip.at[9]} << 16 | load_u16(ip.at + 4)};
      const Fragment fragment{batch.packet(i),
                              l3[i],
                              ip.bytes,
                              ip.bytes,
                              (word & kOffsetMask) * 8,
                              ip.payload(),
                              static_cast<uint8_t>(ip.at[1] & kEcnMask)};
      take_in(batch, i, key, fragment, (word & kMore) == 0);
    } else {
      batch.column(Column::l4)[i] = l3[i] + ip.bytes;
    }
  }
}

void IPReassembler::make_whole(uint8_t* ip, const uint8_t*, uint32_t header_bytes, uint32_t bytes,
                               bool congested) const {
  if (congested) ip[1] |= kEcnMask;
  store_u16(ip + 2, htons(static_cast<uint16_t>(header_bytes + bytes)));
  store_u16(ip + 6, static_cast<uint16_t>(load_u16(ip + 6) & htons(0x4000)));
  set_ip4_header_checksum(ip, header_bytes);
}

uint32_t IPReassembler::transport_at(const uint8_t* ip) const { return (ip[0] & 15u) * 4; }

HEDDLE_ELEMENT(IPReassembler);

}  // namespace heddle
