#include "elements/ip6/protocol_translator64.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "elements/endpoints/checksums.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

enum Failure : int { kDone = -1, kBadHeader, kBadChecksum, kAddress, kNotTranslatable };
constexpr uint32_t kIp4Bytes = 20, kIp6Bytes = 40;
constexpr uint8_t kIcmp6 = 58, kFragment = 44;

uint32_t u16(const uint8_t* at) { return ntohs(load_u16(at)); }
void put16(uint8_t* at, uint32_t value) { store_u16(at, htons(static_cast<uint16_t>(value))); }

/** An IPv6 header with its extension headers, and what its IPv4 header will say. */
struct FoundHeaders {
  uint32_t bytes = kIp6Bytes;  ///< all of them
  uint32_t payload = 0;        ///< behind them, as the header says
  uint8_t protocol = 0;
  bool fragment = false, icmp6 = false;
  uint32_t offset = 0, identification = 0;  ///< offset: with the flag for more, as in IPv4
  uint32_t source = 0, destination = 0;     ///< IPv4, network byte order

  bool first() const { return (offset & 0x1fff) == 0; }
};

bool embedded(const uint8_t* address, uint32_t& ip4) {
  static constexpr std::array<std::array<uint8_t, 12>, 3> kPrefixes{
      {{0, 0x64, 0xff, 0x9b}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}}};
  ip4 = load_u32(address + 12);
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](auto& prefix) { return std::memcmp(prefix.data(), address, prefix.size()) == 0; });
}

/** Reads the headers at `at`, of which `room` bytes are there; kDone, or what is wrong. */
int read(const uint8_t* at, uint32_t room, FoundHeaders& headers) {
  if (room < kIp6Bytes || at[0] >> 4 != 6) return kBadHeader;
  const uint32_t end = kIp6Bytes + u16(at + 4);
  uint8_t next = at[6];
  uint32_t here = kIp6Bytes;
  while (next == 0 || next == 60 || next == 43 || next == kFragment) {
    if (headers.fragment && !headers.first()) break;  // what follows is data
    const uint32_t size = next == kFragment ? 8 : here + 2 > std::min(room, end) ? 8 : 8u + 8u * at[here + 1];
    if (here + size > std::min(room, end)) return kBadHeader;
    if (next == 43 && at[here + 3] != 0) return kNotTranslatable;
    if (next == kFragment) {
      if (headers.fragment) return kNotTranslatable;
      headers.fragment = true;
      headers.offset = u16(at + here + 2) >> 3 | (at[here + 3] & 1u) << 13;
      headers.identification = u16(at + here + 6);
    }
    next = at[here];
    here += size;
  }
  headers.bytes = here;
  headers.payload = end - here;
  headers.icmp6 = next == kIcmp6;
  headers.protocol = headers.icmp6 ? kIcmp : next;
  return embedded(at + 8, headers.source) && embedded(at + 24, headers.destination) ? kDone : kAddress;
}

/** The IPv4 header at `to` for `headers`, which the first bytes of an IPv6 header belong to. `ip6` may overlap `to`. */
void write_header(uint8_t* to, const uint8_t* ip6, const FoundHeaders& headers, uint32_t total,
                  uint32_t identification) {
  const uint8_t traffic_class = static_cast<uint8_t>(u16(ip6) >> 4), hop_limit = ip6[7];
  const bool keep_whole = !headers.fragment && total > 1260;
  to[0] = 0x45, to[1] = traffic_class;
  put16(to + 2, total);
  put16(to + 4, headers.fragment ? headers.identification : keep_whole ? 0 : identification);
  put16(to + 6, headers.fragment ? headers.offset : keep_whole ? 0x4000 : 0);
  to[8] = hop_limit, to[9] = headers.protocol;
  store_u32(to + 12, headers.source);
  store_u32(to + 16, headers.destination);
  set_ip4_checksum(to, kIp4Bytes);
}

/** Corrects a checksum, which covers the addresses of `ip6`, for those of IPv4. */
void change_addresses(uint8_t* checksum, const uint8_t* ip6, const FoundHeaders& headers) {
  const uint64_t old = checksum_add(0, ip6 + 8, 32);
  const uint64_t now = checksum_add(checksum_add(0, reinterpret_cast<const uint8_t*>(&headers.source), 4),
                                    reinterpret_cast<const uint8_t*>(&headers.destination), 4);
  // RFC 1624, equation 3, with sums of many words.
  put16(checksum, checksum_of((~u16(checksum) & 0xffff) + checksum_of(old) + now));
}

/** TCP and UDP: the checksum, if it is among the `room` bytes at `at`. */
void change_transport(uint8_t* at, uint32_t room, const uint8_t* ip6, const FoundHeaders& headers) {
  if (!headers.first()) return;
  if (headers.protocol == kTcp && room >= 18) change_addresses(at + 16, ip6, headers);
  if (headers.protocol != kUdp || room < 8 || load_u16(at + 6) == 0) return;
  change_addresses(at + 6, ip6, headers);
  if (load_u16(at + 6) == 0) store_u16(at + 6, 0xffff);
}

/** Type and code of an ICMPv6 error in ICMP, false: there is none. Changes what stands behind the checksum. */
bool change_error(uint8_t* icmp) {
  static constexpr uint8_t kUnreachable[] = {1, 10, 1, 1, 3};
  const uint8_t type = icmp[0], code = icmp[1];
  const uint32_t value = ntohl(load_u32(icmp + 4));
  store_u32(icmp + 4, 0);
  if (type == 1 && code < 5) {
    icmp[0] = 3, icmp[1] = kUnreachable[code];
  } else if (type == 2) {
    icmp[0] = 3, icmp[1] = 4;
    put16(icmp + 6, std::min(std::max(value, 1280u) - 20, 65535u));
  } else if (type == 3) {
    icmp[0] = 11;
  } else if (type == 4 && code == 1) {
    icmp[0] = 3, icmp[1] = 2;
  } else if (type == 4 && code == 0) {
    static constexpr uint8_t kPlaces[] = {0, 1, 255, 255, 2, 2, 9, 8};
    const uint8_t place = value < 8 ? kPlaces[value] : value < 24 ? 12 : value < 40 ? 16 : 255;
    icmp[0] = 12, icmp[4] = place;
    return place != 255;
  } else {
    return false;
  }
  return true;
}

/** The packet that an error is about, `room` bytes at `at`: changes it to IPv4, and gives by how much it is shorter. */
int change_quoted(uint8_t* at, uint32_t room, uint32_t& shorter) {
  FoundHeaders headers;
  if (const int problem = read(at, room, headers); problem != kDone) return kNotTranslatable;
  std::array<uint8_t, kIp6Bytes> ip6;
  std::memcpy(ip6.data(), at, kIp6Bytes);
  uint8_t* const payload = at + headers.bytes;
  const uint32_t there = room - headers.bytes;
  change_transport(payload, there, ip6.data(), headers);
  if (headers.icmp6 && headers.first() && there >= 4) {
    if (payload[0] != 128 && payload[0] != 129) return kNotTranslatable;
    // Its checksum no longer covers a pseudo-header: addresses, length and protocol.
    const uint64_t pseudo = checksum_add(uint64_t{headers.payload} + kIcmp6, ip6.data() + 8, 32);
    const uint32_t before = u16(payload);
    payload[0] = payload[0] == 128 ? 8 : 0;
    const uint64_t sum = (~u16(payload + 2) & 0xffff) + checksum_of(pseudo) + (~before & 0xffff) + u16(payload);
    put16(payload + 2, checksum_of(sum));
  }
  write_header(at, ip6.data(), headers, std::min(kIp4Bytes + headers.payload, 65535u), 0);
  std::memmove(at + kIp4Bytes, payload, there);
  shorter = headers.bytes - kIp4Bytes;
  return kDone;
}

/** ICMPv6 to ICMP, a whole message; `shorter`: bytes that its end has moved. */
int change_icmp(uint8_t* icmp, const uint8_t* ip6, const FoundHeaders& headers, uint32_t& shorter) {
  const uint32_t bytes = headers.payload;
  if (headers.fragment && headers.offset != 0) return kNotTranslatable;  // but an atomic fragment is whole (RFC 6946)
  if (bytes < 8) return kBadHeader;
  const uint64_t pseudo = checksum_add(uint64_t{bytes} + kIcmp6, ip6 + 8, 32);
  if (checksum_of(checksum_add(pseudo, icmp, bytes)) != 0) return kBadChecksum;
  if (icmp[0] == 128 || icmp[0] == 129) {
    icmp[0] = icmp[0] == 128 ? 8 : 0;
  } else {
    if (!change_error(icmp)) return kNotTranslatable;
    if (const int problem = change_quoted(icmp + 8, bytes - 8, shorter); problem != kDone) return problem;
  }
  store_u16(icmp + 2, 0);
  put16(icmp + 2, checksum_of(checksum_add(0, icmp, bytes - shorter)));
  return kDone;
}

int translate(Packet* packet, uint32_t identification, uint32_t& destination) {
  uint8_t* const at = data(packet);
  FoundHeaders headers;
  if (const int problem = read(at, length(packet), headers); problem != kDone) return problem;
  const uint32_t end = headers.bytes + headers.payload;
  if (end > length(packet)) return kBadHeader;
  std::array<uint8_t, kIp6Bytes> ip6;
  std::memcpy(ip6.data(), at, kIp6Bytes);
  uint8_t* const payload = at + headers.bytes;
  uint32_t shorter = 0;
  if (headers.icmp6) {
    if (const int problem = change_icmp(payload, ip6.data(), headers, shorter); problem != kDone) return problem;
  } else {
    change_transport(payload, headers.payload, ip6.data(), headers);
  }
  move_tail(packet, static_cast<int>(end - shorter) - static_cast<int>(length(packet)));
  move_head(packet, static_cast<int>(headers.bytes - kIp4Bytes));
  write_header(data(packet), ip6.data(), headers, kIp4Bytes + headers.payload - shorter, identification);
  destination = headers.destination;
  return kDone;
}

}  // namespace

Access ProtocolTranslator64::access(Processor) const {
  return {
      .reads = {kWholePacket}, .writes = {kWholePacket}, .column_writes = columns(Column::dst, Column::l3, Column::l4)};
}

std::span<const char* const> ProtocolTranslator64::drop_reasons() const {
  static constexpr const char* kReasons[] = {"bad_header", "bad_checksum", "address", "not_translatable"};
  return kReasons;
}

void ProtocolTranslator64::run_cpu(Batch& batch) {
  const auto n = static_cast<uint16_t>(batch.size());
  const uint16_t first = identification_.fetch_add(n, std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    uint32_t destination = 0;
    const int problem = translate(packet, static_cast<uint16_t>(first + i), destination);
    if (problem != kDone) {
      batch.drop(i, problem);
      continue;
    }
    batch.column(Column::dst)[i] = destination;
    batch.column(Column::l3)[i] = packet->data_off;
    batch.column(Column::l4)[i] = packet->data_off + kIp4Bytes;
  }
}

HEDDLE_ELEMENT(ProtocolTranslator64);

}  // namespace heddle
