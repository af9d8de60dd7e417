#pragma once

#include "elements/ip/fragmenter.h"

namespace heddle {

/** IP6Fragmenter: cuts long IPv6 packets into fragments.
 *
 *      IP6Fragmenter(MTU)
 *
 *  MTU: most bytes of a packet from its IPv6 header (annotation l3) on, 56 to 65535. What is before the header goes
 *  before each fragment. Push input, push outputs.
 *
 *  Output 0: packets that fit, and fragments, in order; they leave right behind the batch that their packet came in.
 *  Each has the headers up to the last Hop-by-Hop Options or Routing header, a Fragment header with the packet's
 *  identification, and a part of what follows, a multiple of 8 bytes but for the last one's. A packet that is a
 *  fragment is cut into smaller ones of the same identification. RFC 8200, 4.5.
 *
 *  Output 1, if connected: packets that do not fit and cannot be fragmented, since the headers, up to TCP's, UDP's or
 *  ICMPv6's, which the first fragment has to have, leave no room within MTU, or do not end ("no_room"); if not, they
 *  are dropped. Other drops: no header at l3 ("no_header"), a length in it that is not the packet's, or a place of a
 *  fragment that there is not ("bad_length"), more than 1024 packets of a thread wait ("full"), no packet buffer is
 *  free ("no_buffer", what is left of the packet).
 *
 *  Fragments are for packets that this host sends: a router drops what does not fit, and says so (RFC 8200, 5), as
 *  CheckLength(1500) and ICMP6Error(..., packettoobig, PMTU 1500) behind its output 1 do.
 *
 *  Handlers: `drops` (r): packets that cannot be fragmented; `fragments` (r): fragments made.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> f :: IP6Fragmenter(1280) -> Unstrip(14) -> ToDump(out.pcap);
 *      f[1] -> ICMP6Error(2001:db8::1, packettoobig, PMTU 1280) -> Discard;
 */
class IP6Fragmenter : public Fragmenter {
 public:
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;

 protected:
  Division divide(const uint8_t* ip, uint32_t done) const override;
  void write_headers(uint8_t* to, const uint8_t* ip, const Division& division, const Piece& piece) const override;
  uint32_t transport_at(const uint8_t* ip) const override;

 private:
  uint32_t first_identification_ = 0;
};

}  // namespace heddle
