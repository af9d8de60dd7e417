#pragma once

#include <cstdint>

#include "functions/ipsec/arrived.h"

/** IP and UDP headers around ESP; CPU and GPU. `load(at)` gives four bytes of a packet, as they lie, and
 *  `store(at, word)` writes them. */
namespace heddle::ipsec {

constexpr uint8_t kProtocolNone = 59;
constexpr uint32_t kMaxIpBytes = 65535;

/** What Encap enciphers of a packet. */
struct Plain {
  int reason;            ///< of EncapReason, kGood if it can be protected
  Inner inner{};         ///< next_header: of what is enciphered
  uint32_t kept = 0;     ///< bytes of its IP headers that stay before ESP: 0 in tunnel mode
  uint32_t next_at = 0;  ///< where in these the protocol is said
};

/** Whether a packet goes to the association's other end. */
template <class Load>
HEDDLE_HD bool goes_to(const Form& form, const Load& load) {
  if (((load(0) >> 4 & 15) == 6) != form.ip6) return false;
  if (!form.ip6) return load(16) == form.destination;
  uint32_t difference = 0;
  for (uint32_t w = 0; w < 4; ++w) difference |= load(24 + 4 * w) ^ form.destination6[w];
  return difference == 0;
}

/** Leaves the headers of the packet in `plain` before ESP. */
HEDDLE_HD inline void keep_headers(const uint8_t* packet, Plain& plain) {
  if (packet[0] >> 4 == 4) {
    plain.kept = (packet[0] & 15) * 4u;
    plain.next_at = 9;
    plain.inner.next_header = packet[9];
    if (is_fragment4(packet)) plain.reason = kFragment;
    return;
  }
  const Extensions e = extensions_of(packet, plain.inner.bytes);
  plain.kept = e.kept, plain.next_at = e.kept_next_at, plain.inner.next_header = e.kept_protocol;
  if (e.cut || e.protocol == kFragmentHeader) plain.reason = e.cut ? kMalformed : kFragment;
}

/** The length of the IP packet that Encap makes of it. */
HEDDLE_HD inline uint32_t protected_bytes(const Form& form, const Plain& plain) {
  const uint32_t bytes = plain.inner.bytes - plain.kept;
  return plain.kept + form.front_bytes() + form.ciphertext_bytes(bytes) + form.suite.icv_bytes;
}

/** Of a packet of which `available` bytes are there. */
template <class Load>
HEDDLE_HD Plain plain_of(const Form& form, const uint8_t* packet, uint32_t available, const Load& load) {
  if (available < kIp4Bytes) return {kMalformed};
  Plain plain{kGood, inner_of(load(0), load(4), available)};
  if (plain.inner.bytes == 0)
    plain.reason = kMalformed;
  else if (form.transport && !goes_to(form, load))
    plain.reason = kNoSa;
  else if (form.transport)
    keep_headers(packet, plain);
  if (plain.reason == kGood && protected_bytes(form, plain) > kMaxIpBytes) plain.reason = kMalformed;
  return plain;
}

/** Writes the outer header of a tunnel, form.ip_bytes() long, before `bytes` bytes (UDP, ESP, ICV). */
template <class Store>
HEDDLE_HD void write_outer(const Store& store, const Form& form, const Inner& inner, uint32_t sequence,
                           uint32_t bytes) {
  constexpr uint32_t kHopLimit = 64;
  if (form.ip6) {
    store(0, swapped(6u << 28 | outer_tos(form, inner) << 20));
    store(4, swapped(bytes << 16 | uint32_t{kProtocolEsp} << 8 | kHopLimit));
    for (uint32_t w = 0; w < 4; ++w) store(8 + 4 * w, form.source6[w]);
    for (uint32_t w = 0; w < 4; ++w) store(24 + 4 * w, form.destination6[w]);
    return;
  }
  uint32_t words[5];
  outer_header(words, form, inner, sequence, kIp4Bytes + bytes, form.in_udp() ? kProtocolUdp : kProtocolEsp);
#ifdef __CUDACC__
#pragma unroll
#endif
  for (uint32_t w = 0; w < 5; ++w) store(4 * w, words[w]);
}

/** What was an IP packet's header has `bytes` bytes of `protocol` behind it now; `next_at` is where it says so. */
HEDDLE_HD inline void change_header(uint8_t* header, uint32_t header_bytes, uint32_t next_at, uint32_t protocol,
                                    uint32_t bytes) {
  const bool is_six = header[0] >> 4 == 6;
  const auto set = [header](uint32_t at, uint32_t number) {
    header[at] = static_cast<uint8_t>(number >> 8), header[at + 1] = static_cast<uint8_t>(number);
  };
  header[next_at] = static_cast<uint8_t>(protocol);
  set(is_six ? 4 : 2, header_bytes + bytes - (is_six ? kIp6Bytes : 0));
  if (is_six) return;
  set(10, 0);
  uint32_t sum = 0;
  for (uint32_t at = 0; at < header_bytes; at += 2) sum += number16(header + at);
  sum = (sum >> 16) + (sum & 0xffff);
  sum += sum >> 16;
  set(10, ~sum);
}

/** Writes the UDP header before `bytes` bytes of ESP and ICV (RFC 3948, 2.1). */
template <class Store>
HEDDLE_HD void write_udp(const Store& store, const Form& form, uint32_t bytes) {
  store(0, form.source_port | uint32_t{form.destination_port} << 16);
  store(4, swapped16(kUdpBytes + bytes));  // no checksum
}

}  // namespace heddle::ipsec
