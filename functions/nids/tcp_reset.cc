#include "functions/nids/tcp_reset.h"

#include <arpa/inet.h>

#include <algorithm>

#include "core/checksum.h"
#include "core/load.h"
#include "functions/nids/rule.h"

namespace heddle {

using namespace nids;

namespace {

enum ResetReason : int { kNotTcp, kIsReset };

constexpr uint32_t kResetBytes = kNetworkBytes + kTcpBytes;

/** Checksum of a TCP header without payload between two addresses, in memory order, where it has 0 now. */
uint16_t tcp_checksum(const uint8_t* tcp, uint32_t one, uint32_t other) {
  uint64_t sum = uint64_t{one} + other + htonl(6u << 16 | kTcpBytes);  // the pseudo-header's protocol and length
  for (uint32_t at = 0; at < kTcpBytes; at += 4) sum += load_u32(tcp + at);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

/** Makes the segment in `ip` its reset; `segment`: sequence numbers that it takes up. */
void answer(uint8_t* ip, const uint8_t* tcp, uint32_t segment) {
  const uint32_t source = load_u32(ip + 12), destination = load_u32(ip + 16), ports = load_u32(tcp);
  const uint32_t sequence = load_u32(tcp + 4), acknowledged = load_u32(tcp + 8);
  const bool has_ack = (tcp[13] & kAck) != 0;
  store_u32(ip, htonl(0x45000000 | kResetBytes));
  store_u32(ip + 4, htonl(0x4000));  // DF
  store_u32(ip + 8, htonl(64u << 24 | 6u << 16));
  store_u32(ip + 12, destination);
  store_u32(ip + 16, source);
  store_u16(ip + 10, ip4_checksum(ip, kNetworkBytes));
  uint8_t* const reset = ip + kNetworkBytes;
  store_u32(reset, ports << 16 | ports >> 16);
  store_u32(reset + 4, has_ack ? acknowledged : 0);
  store_u32(reset + 8, has_ack ? 0 : htonl(ntohl(sequence) + segment));
  store_u32(reset + 12, htonl(5u << 28 | (has_ack ? kRst : kRst | kAck) << 16));
  store_u32(reset + 16, 0);
  store_u16(reset + 16, tcp_checksum(reset, source, destination));
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
    const uint32_t network = l3[i] - packet->data_off, transport = l4[i] - packet->data_off;
    const bool whole = network <= length(packet) && length(packet) - network >= kResetBytes && transport >= network &&
                       transport <= length(packet) - kTcpBytes;
    if (!whole ||
        transport_bytes(load_u32(frame + network + 6), length(packet) - transport, frame[transport + 12]) == 0 ||
        protocol_of(load_u32(frame + network + 6)) != Protocol::tcp) {
      batch.drop(i, kNotTcp);
      continue;
    }
    const uint8_t* const tcp = frame + transport;
    if ((tcp[13] & kRst) != 0) {
      batch.drop(i, kIsReset);
      continue;
    }
    const uint32_t end = std::min(length(packet), network + ntohs(load_u16(frame + network + 2)));
    const uint32_t text = transport + (tcp[12] >> 4) * 4u;
    const uint32_t flags = ((tcp[13] & kSyn) != 0) + ((tcp[13] & kFin) != 0);
    answer(frame + network, tcp, (end > text ? end - text : 0) + flags);
    move_tail(packet, static_cast<int>(network + kResetBytes) - static_cast<int>(length(packet)));
    l4[i] = l3[i] + kNetworkBytes;
    if (dst != nullptr) dst[i] = load_u32(frame + network + 16);
  }
}

HEDDLE_ELEMENT(TCPReset);

}  // namespace heddle
