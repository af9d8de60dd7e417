#include "functions/nids/tcp_reset.h"

#include <arpa/inet.h>

#include <algorithm>
#include <span>

#include "core/checksum.h"
#include "core/load.h"
#include "functions/nids/rule.h"

namespace heddle {

using namespace nids;

namespace {

enum ResetReason : int { kNotTcp, kIsReset };

/** Checksum of a TCP header without payload between two addresses, as they lie in these bytes, where it has 0 now. The
 *  pseudo-headers of IPv4 and IPv6 (RFC 9293, 3.1; RFC 8200, 8.1) have the same protocol and length. */
uint16_t tcp_checksum(const uint8_t* tcp, std::span<const uint8_t> addresses) {
  uint64_t sum = htonl(6u << 16 | kTcpBytes);
  for (size_t at = 0; at < addresses.size(); at += 4) sum += load_u32(addresses.data() + at);
  for (uint32_t at = 0; at < kTcpBytes; at += 4) sum += load_u32(tcp + at);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

/** Makes the IP header at `ip` that of a reset, whose bytes it returns. */
uint32_t answer_header(uint8_t* ip, bool is_ip6) {
  if (is_ip6) {
    store_u32(ip, htonl(0x60000000));
    store_u32(ip + 4, htonl(kTcpBytes << 16 | uint32_t{kTcpNumber} << 8 | 64));
    std::swap_ranges(ip + 8, ip + 24, ip + 24);
    return kIp6HeaderBytes;
  }
  store_u32(ip, htonl(0x45000000 | (kNetworkBytes + kTcpBytes)));
  store_u32(ip + 4, htonl(0x4000));  // DF
  store_u32(ip + 8, htonl(64u << 24 | uint32_t{kTcpNumber} << 16));
  std::swap_ranges(ip + 12, ip + 16, ip + 16);
  store_u16(ip + 10, ip4_checksum(ip, kNetworkBytes));
  return kNetworkBytes;
}

/** Makes the segment in `ip` its reset, and returns the bytes of this; `segment`: sequence numbers that it takes up. */
uint32_t answer(uint8_t* ip, bool is_ip6, const uint8_t* tcp, uint32_t segment) {
  const uint32_t ports = load_u32(tcp), sequence = load_u32(tcp + 4), acknowledged = load_u32(tcp + 8);
  const bool has_ack = (tcp[13] & kAck) != 0;
  const uint32_t bytes = answer_header(ip, is_ip6);
  uint8_t* const reset = ip + bytes;
  store_u32(reset, ports << 16 | ports >> 16);
  store_u32(reset + 4, has_ack ? acknowledged : 0);
  store_u32(reset + 8, has_ack ? 0 : htonl(ntohl(sequence) + segment));
  store_u32(reset + 12, htonl(5u << 28 | (has_ack ? kRst : kRst | kAck) << 16));
  store_u32(reset + 16, 0);
  const uint32_t addresses = is_ip6 ? 8 : 12;
  store_u16(reset + 16, tcp_checksum(reset, {ip + addresses, bytes - addresses}));
  return bytes + kTcpBytes;
}

/** Where the packet at `ip` says that it ends, from there. */
uint32_t said_bytes(const uint8_t* ip, bool is_ip6) {
  return is_ip6 ? kIp6HeaderBytes + ntohs(load_u16(ip + 4)) : ntohs(load_u16(ip + 2));
}

}  // namespace

Access TCPReset::access(Processor) const {
  return {.reads = {kWholePacket},
          .writes = {kWholePacket},
          .column_reads = columns(Column::l3, Column::l4),
          .column_writes = columns(Column::dst, Column::l4)};
}

std::span<const char* const> TCPReset::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_tcp", "is_reset"};
  return kReasons;
}

void TCPReset::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t *l4 = batch.column(Column::l4), *dst = batch.column(Column::dst);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    uint8_t* const frame = batch.frame(i);
    const uint32_t bytes = length(packet), network = l3[i] - packet->data_off;
    const Headers headers =
        headers_of(bytes, network, l4[i] - packet->data_off, [&](uint32_t at) { return load_u32(frame + at); });
    const uint32_t transport = headers.behind.at, available = bytes - transport;
    if (!headers.whole || protocol_of(headers.behind.number) != Protocol::tcp ||
        transport_bytes(headers, available, available > 12 ? frame[transport + 12] : 0) == 0 ||
        transport < network + (headers.is_ip6 ? kIp6HeaderBytes : kNetworkBytes)) {
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, kNotTcp);
      continue;
    }
    const uint8_t* const tcp = frame + transport;
    if ((tcp[13] & kRst) != 0) {
      batch.drop(i, kIsReset);
      continue;
    }
    const uint32_t end = std::min(bytes, network + said_bytes(frame + network, headers.is_ip6));
    const uint32_t text = transport + (tcp[12] >> 4) * 4u;
    const uint32_t flags = ((tcp[13] & kSyn) != 0) + ((tcp[13] & kFin) != 0);
    const uint32_t reset = answer(frame + network, headers.is_ip6, tcp, (end > text ? end - text : 0) + flags);
    move_tail(packet, static_cast<int>(network + reset) - static_cast<int>(bytes));
    l4[i] = l3[i] + reset - kTcpBytes;
    if (dst != nullptr) dst[i] = headers.is_ip6 ? 0 : load_u32(frame + network + 16);
  }
}

HEDDLE_ELEMENT(TCPReset);

}  // namespace heddle
