#include "measure/wire/frames.h"

#include <algorithm>
#include <cstring>

#include "measure/wire/signature.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kEthernet = 14, kIp = 20, kIp6 = 40, kUdpHeader = 8, kTcpHeader = 20;
constexpr uint32_t kShortestInMemory = 60;

void put16(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8), at[1] = static_cast<uint8_t>(value);
}
void put32(uint8_t* at, uint32_t value) { put16(at, value >> 16), put16(at + 2, value); }
uint32_t get16(const uint8_t* at) { return static_cast<uint32_t>(at[0] << 8 | at[1]); }
uint32_t get32(const uint8_t* at) { return get16(at) << 16 | get16(at + 2); }

uint32_t transport_header(uint8_t protocol) {
  return protocol == kTcp ? kTcpHeader : protocol == kUdp ? kUdpHeader : 0;
}
uint32_t checksum_offset(uint8_t protocol) { return protocol == kTcp ? 16 : 6; }

/** An IPv4 packet in a frame, as far as its headers are there, or one of IPv6 with UDP or TCP and no extensions. */
struct Parsed {
  bool ip = false;
  bool six = false;      ///< it is IPv6
  uint32_t l4 = 0;       ///< where the transport header begins
  uint32_t payload = 0;  ///< and the payload; as l4 for protocols that we do not know
  uint32_t end = 0;      ///< of the IP packet
  uint8_t protocol = 0;
  bool fragment = false;  ///< of several
  bool first = true;
};

/** Fills in what is behind the IP header; `p.l4` and `p.end` are there. */
Parsed with_transport(const std::vector<uint8_t>& frame, Parsed p) {
  p.payload = p.l4;
  if (!p.first) return p;
  uint32_t transport = transport_header(p.protocol);
  if (p.protocol == kTcp && p.end >= p.l4 + kTcpHeader) transport = std::max(kTcpHeader, (frame[p.l4 + 12] >> 4) * 4u);
  if (p.l4 + transport > p.end) p.ip = false;  // it is not what it says
  p.payload = p.l4 + transport;
  return p;
}

Parsed parse(const std::vector<uint8_t>& frame) {
  Parsed p;
  if (frame.size() < kEthernet + kIp) return p;
  const uint8_t* ip = &frame[kEthernet];
  if (get16(&frame[12]) == 0x86dd) {
    if (frame.size() < kEthernet + kIp6 || ip[0] >> 4 != 6 || kEthernet + kIp6 + get16(ip + 4) > frame.size()) return p;
    p.protocol = ip[6];
    p.ip = p.six = p.protocol == kUdp || p.protocol == kTcp;
    p.l4 = kEthernet + kIp6;
    p.end = p.l4 + get16(ip + 4);
    return with_transport(frame, p);
  }
  const uint32_t header = (ip[0] & 15u) * 4, total = get16(ip + 2);
  if (get16(&frame[12]) != 0x0800 || ip[0] >> 4 != 4 || header < kIp || total < header ||
      kEthernet + total > frame.size())
    return p;
  p.ip = true;
  p.protocol = ip[9];
  p.fragment = (get16(ip + 6) & 0x3fff) != 0;
  p.first = (get16(ip + 6) & 0x1fff) == 0;
  p.l4 = kEthernet + header;
  p.end = kEthernet + total;
  return with_transport(frame, p);
}

/** Sum of the transport header and payload of an unfragmented UDP or TCP packet with its pseudo header. */
uint16_t transport_sum(const std::vector<uint8_t>& frame, const Parsed& p) {
  uint8_t rest[4] = {0, p.protocol};  // of the pseudo header behind the addresses, without zeros
  put16(rest + 2, p.end - p.l4);
  const uint32_t addresses = ones_sum(&frame[kEthernet + (p.six ? 8 : 12)], p.six ? 32 : 8);
  return ones_sum(&frame[p.l4], p.end - p.l4, ones_sum(rest, sizeof rest, addresses));
}

/** Sets the checksums of IPv4 and, if `transport`, of UDP or TCP. */
void set_checksums(std::vector<uint8_t>& frame, bool transport) {
  const Parsed p = parse(frame);
  if (!p.six) {
    uint8_t* ip = &frame[kEthernet];
    put16(ip + 10, 0);
    const auto header = static_cast<uint16_t>(~ones_sum(ip, p.l4 - kEthernet));
    std::memcpy(ip + 10, &header, 2);
  }
  if (!transport || (p.protocol != kUdp && p.protocol != kTcp)) return;
  uint8_t* at = &frame[p.l4 + checksum_offset(p.protocol)];
  put16(at, 0);
  auto sum = static_cast<uint16_t>(~transport_sum(frame, p));
  if (sum == 0 && p.protocol == kUdp) sum = 0xffff;
  std::memcpy(at, &sum, 2);
}

void put_addresses(std::vector<uint8_t>& frame, const MacAddresses& addresses, uint32_t type) {
  std::memcpy(&frame[0], addresses.destination.data(), 6);
  std::memcpy(&frame[6], addresses.source.data(), 6);
  put16(&frame[12], type);
}

/** The transport header and the payload, from `l4` to the frame's end, and all checksums. */
void put_transport(std::vector<uint8_t>& frame, uint32_t at, const FiveTuple& flow) {
  uint8_t* l4 = &frame[at];
  const uint32_t bytes = static_cast<uint32_t>(frame.size()) - at, header = transport_header(flow.protocol);
  for (uint32_t i = header; i < bytes; ++i) l4[i] = static_cast<uint8_t>(i);
  if (header != 0) put16(l4, flow.source_port), put16(l4 + 2, flow.destination_port);
  if (flow.protocol == kUdp) put16(l4 + 4, bytes);
  if (flow.protocol == kTcp) l4[12] = kTcpHeader / 4 << 4, l4[13] = 0x10, put16(l4 + 14, 65535);  // ACK
  set_checksums(frame, true);
}

}  // namespace

uint16_t ones_sum(const uint8_t* data, size_t bytes, uint32_t start) {
  uint64_t sum = start;
  for (size_t i = 0; i + 1 < bytes; i += 2) {
    uint16_t word;
    std::memcpy(&word, data + i, 2);
    sum += word;
  }
  if (bytes % 2 != 0) {
    const uint8_t last[2] = {data[bytes - 1], 0};
    uint16_t word;
    std::memcpy(&word, last, 2);
    sum += word;
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

uint32_t shortest_frame(uint8_t protocol, bool ip6) {
  return std::max(kShortestInMemory, kEthernet + (ip6 ? kIp6 : kIp) + transport_header(protocol) + kSignatureBytes);
}

std::vector<uint8_t> make_frame(const FiveTuple& flow, const MacAddresses& addresses, uint32_t bytes) {
  std::vector<uint8_t> frame(std::max(bytes, shortest_frame(flow.protocol)));
  put_addresses(frame, addresses, 0x0800);
  uint8_t* ip = &frame[kEthernet];
  ip[0] = 0x45, ip[8] = 64, ip[9] = flow.protocol;
  put16(ip + 2, static_cast<uint32_t>(frame.size()) - kEthernet);
  put32(ip + 12, flow.source);
  put32(ip + 16, flow.destination);
  put_transport(frame, kEthernet + kIp, flow);
  return frame;
}

std::vector<uint8_t> make_frame6(const FiveTuple& flow, const Ip6Addresses& ip6, const MacAddresses& addresses,
                                 uint32_t bytes) {
  std::vector<uint8_t> frame(std::max(bytes, shortest_frame(flow.protocol, true)));
  put_addresses(frame, addresses, 0x86dd);
  uint8_t* ip = &frame[kEthernet];
  ip[0] = 0x60, ip[6] = flow.protocol, ip[7] = 64;
  put16(ip + 4, static_cast<uint32_t>(frame.size()) - kEthernet - kIp6);
  std::memcpy(ip + 8, ip6.source.data(), 16);
  std::memcpy(ip + 24, ip6.destination.data(), 16);
  put_transport(frame, kEthernet + kIp6, flow);
  return frame;
}

Stamping prepare_stamping(std::vector<uint8_t>& frame) {
  Parsed p = parse(frame);
  if (!p.ip) {  // behind its end
    frame.resize(((frame.size() + 1) & ~size_t{1}) + kSignatureBytes);
    return {};
  }
  const uint32_t needed = std::max<uint32_t>((p.payload + kSignatureBytes + 1) & ~1u, kShortestInMemory);
  const bool known = !p.fragment && (p.protocol == kUdp || p.protocol == kTcp);
  const uint32_t checksum_at = known ? p.l4 + checksum_offset(p.protocol) : 0;
  // A checksum that was wrong stays wrong: what it was wrong by is part of the sum.
  uint16_t wrong_by = 0;
  const bool none = known && p.protocol == kUdp && get16(&frame[checksum_at]) == 0;
  if (known && !none) wrong_by = transport_sum(frame, p) == 0xffff ? 0 : 1;
  frame.resize(p.end);  // without what Ethernet has padded it with
  if (frame.size() < needed) {
    frame.resize(needed);
    if (p.six)
      put16(&frame[kEthernet + 4], needed - p.l4);
    else
      put16(&frame[kEthernet + 2], needed - kEthernet);
    if (known && p.protocol == kUdp) put16(&frame[p.l4 + 4], needed - p.l4);
    p.end = needed;
  }
  std::memset(&frame[signature_at(static_cast<uint32_t>(frame.size()))], 0, kSignatureBytes);
  set_checksums(frame, known && !none);
  if (!known || none) return {};
  put16(&frame[checksum_at], 0);
  return {static_cast<uint16_t>(checksum_at), ones_sum(nullptr, 0, uint32_t{transport_sum(frame, p)} + wrong_by)};
}

bool five_tuple_of(const std::vector<uint8_t>& frame, FiveTuple& flow) {
  const Parsed p = parse(frame);
  if (!p.ip || p.six) return false;
  flow = {get32(&frame[kEthernet + 12]), get32(&frame[kEthernet + 16]), 0, 0, p.protocol};
  if (p.first && (p.protocol == kUdp || p.protocol == kTcp))
    flow.source_port = static_cast<uint16_t>(get16(&frame[p.l4])),
    flow.destination_port = static_cast<uint16_t>(get16(&frame[p.l4 + 2]));
  return true;
}

}  // namespace heddle::bench
