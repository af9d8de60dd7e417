#pragma once

#include "functions/flow/rewrite.h"
#include "functions/flow/servers.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::flow {

/** A thread a packet. What is wanted of the headers, 24 bytes where no options lie between them, is read by the aligned
 *  words of 16 that they lie in, mostly two, which are on their way together with what is known of the flow. */
struct BalanceTile {
  using Table = Servers;
  using State = PlaceServer;               // the first of Places::count
  static constexpr bool kOnRings = false;  // there are no flows

  __device__ void operator()(const gpu::Block& block, gpu::Tile& tile, const Servers& servers,
                             PlaceServer& first) const {
    for (int i : tile.mine(block)) {
      const uint32_t flow = tile.column(Column::flow, i), place = servers.places.place_in(flow);
      PlaceServer* const word = place < servers.places.count ? &first + place : nullptr;
      const Packet packet{tile.frame(i), tile.length(i), tile.column(Column::l3, i), tile.column(Column::l4, i)};
      const uint64_t server = balance(packet, servers, word, servers.places.generation_in(flow));
      if (server == kNone)
        tile.drop(i, kFragment);
      else
        tile.column(Column::dst, i) = static_cast<uint32_t>(server);
    }
  }

 private:
  struct Packet {
    uint8_t* frame;
    uint32_t bytes, network, transport;  // where the headers are
  };
  struct Fields {
    uint32_t control, checksum, source, destination, ports, udp_checksum;  // as they lie; control: bytes 6 to 9
  };

  static constexpr uint64_t kNone = ~uint64_t{0};

  /** Changes the packet; returns its server, or kNone if it lacks its ports. `word`: that of the flow's place, or
   *  null. */
  static __device__ __noinline__ uint64_t balance(Packet packet, const Servers& servers, PlaceServer* word,
                                                  uint32_t generation) {
    const bool whole = packet.network <= packet.bytes && packet.bytes - packet.network >= 20;
    if (!whole) return 0;
    const PlaceServer known = word != nullptr ? __ldcg(word) : 0;
    const Fields fields = read(packet);
    if (lacks_its_ports(fields.control)) return kNone;
    const uint32_t server = is_of(known, generation) ? static_cast<uint32_t>(count_in(known))
                                                     : choose(servers, word, known, generation, fields);
    uint8_t* const l3 = packet.frame + packet.network;
    store_u16(l3 + 10, checksum_after(static_cast<uint16_t>(fields.checksum), fields.destination, server));
    gpu::store_u32(l3 + 16, server);
    const uint32_t protocol = classifier::protocol_of(fields.control);
    const bool later = (fields.control & 0xff1f) != 0;
    if (later || packet.transport > packet.bytes || packet.bytes - packet.transport < transport_bytes(protocol))
      return server;
    uint8_t* const at = packet.frame + packet.transport + transport_checksum_at(protocol);
    const uint32_t sum = protocol == kUdp ? fields.udp_checksum : gpu::load_u32(at);
    store_u16(at, transport_checksum_after(protocol, static_cast<uint16_t>(sum), fields.destination, server));
    return server;
  }

  /** The server of a flow that is not known here; makes it known, unless it is over and another has its place. */
  static __device__ uint32_t choose(const Servers& servers, PlaceServer* word, PlaceServer known, uint32_t generation,
                                    const Fields& fields) {
    const uint32_t server = servers.choice(fields.source, fields.destination, fields.control, fields.ports);
    if (word == nullptr) return server;
    while (known == 0 || !servers.places.is_after(generation_of(known), generation)) {
      const PlaceServer before = atomicCAS(word, known, static_cast<PlaceServer>(counted(generation, server)));
      if (before == known) break;
      if (is_of(before, generation)) return static_cast<uint32_t>(count_in(before));
      known = before;
    }
    return server;
  }

  /** Of a packet with a whole IPv4 header. */
  static __device__ Fields read(const Packet& packet) {
    constexpr uint32_t kFirst = 4, kOfNetwork = 16, kOfTransport = 8;
    const bool in_packet = packet.transport <= packet.bytes;
    const uint32_t behind = in_packet ? packet.bytes - packet.transport : 0;
    const bool adjacent = behind >= 4 && packet.transport == packet.network + 20;
    const uint32_t wanted = kOfNetwork + (adjacent ? min(behind, kOfTransport) : 0);

    const auto address = reinterpret_cast<uintptr_t>(packet.frame + packet.network + kFirst);
    const auto* pieces = reinterpret_cast<const uint4*>(address & ~uintptr_t{15});
    const auto skipped = static_cast<uint32_t>(address & 15);
    const uint4 a = pieces[0], b = skipped + wanted > 16 ? pieces[1] : uint4{},
                c = skipped + wanted > 32 ? pieces[2] : uint4{};
    uint32_t word[] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
#pragma unroll
    for (int k = 0; k < 9; ++k) word[k] = (skipped & 8) != 0 ? word[k + 2] : word[k];
#pragma unroll
    for (int k = 0; k < 7; ++k) word[k] = (skipped & 4) != 0 ? word[k + 1] : word[k];
#pragma unroll
    for (int k = 0; k < 6; ++k) word[k] = __funnelshift_r(word[k], word[k + 1], skipped % 4 * 8);

    Fields fields{word[0] >> 16 | word[1] << 16, word[1] >> 16, word[2], word[3], word[4], word[5] >> 16};
    if (!adjacent) {
      const uint8_t* const transport = packet.frame + packet.transport;
      fields.ports = behind >= 4 ? gpu::load_u32(transport) : 0;
      fields.udp_checksum = behind >= 8 ? gpu::load_u32(transport + 4) >> 16 : 0;
    }
    return fields;
  }

  static __device__ void store_u16(uint8_t* at, uint16_t value) {
    if (gpu::is_aligned<2>(at)) {
      *reinterpret_cast<uint16_t*>(at) = value;
    } else {
      at[0] = static_cast<uint8_t>(value), at[1] = static_cast<uint8_t>(value >> 8);
    }
  }
};

}  // namespace heddle::flow
