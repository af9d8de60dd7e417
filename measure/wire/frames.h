#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::bench {

constexpr uint32_t kFcsBytes = 4;  ///< of a frame on the wire that packets in memory do not have

/** What tells flows apart; host byte order. Ports are 0 for protocols without ports. */
struct FiveTuple {
  uint32_t source = 0, destination = 0;
  uint16_t source_port = 0, destination_port = 0;
  uint8_t protocol = 17;
  auto operator<=>(const FiveTuple&) const = default;
};

struct MacAddresses {
  std::array<uint8_t, 6> destination{2, 0, 0, 0, 0, 1}, source{2, 0, 0, 0, 0, 2};
};

/** As they lie in packets. */
struct Ip6Addresses {
  std::array<uint8_t, 16> source{}, destination{};
};

constexpr uint8_t kTcp = 6, kUdp = 17;

/** The shortest frame of the protocol, in memory, that has a signature: 60 bytes as Ethernet's shortest, TCP and IPv6
 *  more. */
uint32_t shortest_frame(uint8_t protocol, bool ip6 = false);

/** An Ethernet frame of `bytes` bytes in memory (at least shortest_frame()) with an IPv4 header without options, TTL
 *  64, a UDP or TCP header if the protocol says so, and a payload of known bytes; checksums are right. */
std::vector<uint8_t> make_frame(const FiveTuple& flow, const MacAddresses& addresses, uint32_t bytes);

/** The same with an IPv6 header without extensions, hop limit 64; of the tuple, only protocol and ports are in it. */
std::vector<uint8_t> make_frame6(const FiveTuple& flow, const Ip6Addresses& ip6, const MacAddresses& addresses,
                                 uint32_t bytes);

/** How a signature goes into a frame without making its checksum wrong. */
struct Stamping {
  uint16_t checksum_at = 0;  ///< of the UDP or TCP checksum, 0 = none covers the signature
  uint16_t sum = 0;  ///< ones' complement sum, in memory order, of all that the checksum covers with zeros as signature
};

/** Puts zeros where the signature will be and says how to put it there. A frame of which the signature would cover a
 *  header is made longer: by a longer payload if it is IPv4, or UDP or TCP right behind an IPv6 header, else behind its
 *  end. */
Stamping prepare_stamping(std::vector<uint8_t>& frame);

/** The 5-tuple of an Ethernet frame with IPv4 (ports: UDP and TCP, first fragments); false for others. */
bool five_tuple_of(const std::vector<uint8_t>& frame, FiveTuple& flow);

/** Ones' complement sum of `bytes` bytes in memory order, folded to 16 bits; an odd last byte counts as if 0
 *  followed. */
uint16_t ones_sum(const uint8_t* data, size_t bytes, uint32_t sum = 0);

}  // namespace heddle::bench
