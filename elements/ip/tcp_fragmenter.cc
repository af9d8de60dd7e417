#include "elements/ip/tcp_fragmenter.h"

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

constexpr uint8_t kFinFlag = 0x01, kPushFlag = 0x08, kCwrFlag = 0x80;

uint32_t tcp_bytes(const uint8_t* tcp) { return (tcp[12] >> 4) * 4u; }

}  // namespace

void TCPFragmenter::configure(click::Arguments& arguments) {
  arguments.required("MTU", mtu_, 41u, 65535u);
  unit_ = 1;
}

void TCPFragmenter::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t* l4 = batch.column(Column::l4);
  const bool wants_l4 = this->wants_l4();
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip) {
      batch.drop(i, kNoHeader);
      continue;
    }
    if (wants_l4) l4[i] = l3[i] + ip.bytes;
    if (ip.at[9] != kTcp || ip.fragment() || ip.room <= mtu_ || ip.payload() < 20) continue;
    const uint32_t header = tcp_bytes(ip.behind());
    if (header < 20 || header > ip.payload() || ip.bytes + header >= mtu_) continue;
    if (ip.total() == ip.room)
      keep(batch, i);
    else if (ip.total() > mtu_)
      batch.drop(i, kBadLength);
  }
}

Fragmenter::Division TCPFragmenter::divide(const uint8_t* ip, uint32_t) const {
  const uint32_t bytes = transport_at(ip) + tcp_bytes(ip + transport_at(ip));
  return {bytes, bytes};
}

void TCPFragmenter::write_headers(uint8_t* to, const uint8_t* ip, const Division& division, const Piece& piece) const {
  std::memcpy(to, ip, division.header_bytes);
  const uint32_t ip_bytes = transport_at(ip), bytes = division.header_bytes + piece.bytes;
  store_u16(to + 2, htons(static_cast<uint16_t>(bytes)));
  set_ip4_header_checksum(to, ip_bytes);
  uint8_t* const tcp = to + ip_bytes;
  store_u32(tcp + 4, htonl(ntohl(load_u32(tcp + 4)) + piece.done));
  if (piece.done > 0) tcp[13] &= static_cast<uint8_t>(~kCwrFlag);
  if (!piece.last) tcp[13] &= static_cast<uint8_t>(~(kFinFlag | kPushFlag));
  store_u16(tcp + 16, 0);
  store_u16(tcp + 16, htons(static_cast<uint16_t>(transport_checksum(to, tcp, bytes - ip_bytes, bytes - ip_bytes))));
}

HEDDLE_ELEMENT(TCPFragmenter);

}  // namespace heddle
