#pragma once

#include <cstddef>
#include <cstdint>

#include "core/macros.h"
#include "elements/ip6/header.h"

/** What CPU and GPU have in common: where a payload begins, and the automata that search it. */
namespace heddle::nids {

/** Protocols that rules name. */
enum class Protocol : uint8_t { ip, tcp, udp, icmp };
constexpr uint32_t kProtocols = 4;

// The fourth to last bytes of the IPv4 header's first ten (6..9: flags, fragment offset, TTL, protocol) are `control`
// here, as loaded: the first byte is the lowest. RFC 791, 3.1. Of IPv6 these begin with the next header and the hop
// limit. RFC 8200, 3.
constexpr uint32_t kNetworkBytes = 20, kTcpBytes = 20, kUdpBytes = 8, kIcmpBytes = 8;
constexpr uint8_t kTcpNumber = 6, kIcmpNumber = 1, kIcmp6Number = 58;
constexpr uint8_t kFin = 1, kSyn = 2, kRst = 4, kAck = 16;  // byte 13 of TCP's header: RFC 9293, 3.1

HEDDLE_HD constexpr Protocol protocol_of(uint32_t number) {
  return number == kTcpNumber                              ? Protocol::tcp
         : number == 17                                    ? Protocol::udp
         : number == kIcmpNumber || number == kIcmp6Number ? Protocol::icmp
                                                           : Protocol::ip;
}
/** Whether there are ports where there is a whole transport header. */
HEDDLE_HD constexpr bool names_ports(Protocol protocol) {
  return protocol == Protocol::tcp || protocol == Protocol::udp;
}

/** Where the IP headers of a packet lead. */
struct Headers {
  bool whole;          ///< not: there is no whole IPv4 or IPv6 header, and what follows is 0
  bool is_ip6;         ///< or IPv4, or something that begins with no number of a version
  ip6::Behind behind;  ///< where what is behind them begins, at most at the packet's end, and what it is
};

/** Of a packet of `bytes` bytes, in which its header begins at `network` and what follows at `transport`, as
 *  CheckIPHeader and CheckIP6Header say it. `load(at)`: the four bytes from there, in memory order. */
template <class Load>
HEDDLE_HD Headers headers_of(uint32_t bytes, uint32_t network, uint32_t transport, const Load& load) {
  Headers found{};
  if (network > bytes || bytes - network < kNetworkBytes) return found;
  const uint32_t first = load(network), control = load(network + 6);
  found.is_ip6 = (first >> 4 & 15) == 6;
  found.whole = !found.is_ip6 || bytes - network >= kIp6HeaderBytes;
  transport = transport < bytes ? transport : bytes;
  if (!found.is_ip6)
    found.behind = {transport, static_cast<uint8_t>(control >> 24), 0, (control & 0xff1f) != 0};
  else if (found.whole)
    found.behind = ip6::behind_extensions(static_cast<uint8_t>(control), transport, bytes, load);
  return found;
}

/** Bytes of the transport header, behind which the payload begins. 0 if there is none, as in a later fragment, or if it
 *  is not whole: then all of the `available` bytes are payload. `data_offset`: byte 12 of the transport header (TCP:
 *  RFC 9293, 3.1), if it is there. */
HEDDLE_HD constexpr uint32_t transport_bytes(const Headers& headers, uint32_t available, uint32_t data_offset) {
  if (headers.behind.later_fragment) return 0;
  uint32_t bytes = 0;
  switch (protocol_of(headers.behind.number)) {
    case Protocol::tcp:
      bytes = available < kTcpBytes || data_offset >> 4 < kTcpBytes / 4 ? 0 : (data_offset >> 4) * 4;
      break;
    case Protocol::udp:
      bytes = kUdpBytes;
      break;
    case Protocol::icmp:
      bytes = kIcmpBytes;
      break;
    case Protocol::ip:
      break;
  }
  return bytes <= available ? bytes : 0;
}

/** Where in a packet of `bytes` bytes the payload behind a transport header of `header` bytes, as transport_bytes()
 *  says them, ends. UDP has a length (RFC 768), and no application gets what lies behind it. One that no host takes,
 *  shorter than the header or beyond the packet, hides nothing: then the packet's end is the payload's. `load`: as of
 *  headers_of(). */
template <class Load>
HEDDLE_HD uint32_t end_of_payload(const Headers& headers, uint32_t bytes, uint32_t header, const Load& load) {
  if (header == 0 || protocol_of(headers.behind.number) != Protocol::udp) return bytes;
  const uint32_t at = headers.behind.at, word = load(at + 4), length = (word & 0xff) << 8 | (word >> 8 & 0xff);
  return length >= kUdpBytes && length <= bytes - at ? at + length : bytes;
}

/** Longest pattern that automata know; of longer ones they know a part. */
constexpr uint32_t kLongestPattern = 32;

/** What is looked for in packets of a protocol and, if they have them, ports. */
struct PortGroup {
  /** `nothing`: no rule is for them, `always`: one is that looks for nothing, so both need no search. */
  enum class Search : uint8_t { patterns, nothing, always };
  uint32_t first;   ///< where in Image::next its automaton's states begin, of which 0 is the start
  uint16_t accept;  ///< states from here up have found a pattern
  uint8_t number;   ///< of the automaton
  Search search;
};
constexpr uint32_t kMaxPortPairs = 1024;

/** Aho-Corasick automata (CACM 18(6), 1975) without pointers, the same bytes on CPU and GPU, of the fast patterns of
 *  the rules for some packets each. Letters of both cases are one: case is for the confirmation. Offsets count from the
 *  image's start. */
struct alignas(128) Image {
  uint32_t states, classes;  ///< states: of all automata
  uint32_t tells;  ///< not 0: GPUs tell the host of candidates (candidates.h), and these go on as all others do
  uint32_t syns;   ///< not 0: every packet with TCP's SYN is a candidate, for it tells of connections
  uint64_t next;   ///< uint16_t[states][classes]: the state, of the same automaton, behind a byte of a class
  uint8_t class_of[256];
  PortGroup without_ports[kProtocols];     ///< [Protocol]
  uint32_t destination_classes[2];         ///< of TCP, UDP; as what follows
  PortGroup with_ports[2][kMaxPortPairs];  ///< [source class * destination_classes + destination class]
  uint8_t source_class[2][65536], destination_class[2][65536];  ///< [port, host byte order]

  template <class T>
  HEDDLE_HD const T* at(uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + offset);
  }
  /** Ports, in host byte order: if there are any. */
  HEDDLE_HD const PortGroup& group_of(Protocol protocol, bool has_ports, uint32_t source, uint32_t destination) const {
    if (!has_ports) return without_ports[static_cast<uint32_t>(protocol)];
    const uint32_t which = protocol == Protocol::tcp ? 0 : 1;
    const uint32_t row = source_class[which][source] * destination_classes[which];
    return with_ports[which][row + destination_class[which][destination]];
  }
};

/** Exits of NIDS, and why it drops. */
enum Output : uint16_t { kClean, kCandidate };
enum Reason : int { kShort };

}  // namespace heddle::nids
