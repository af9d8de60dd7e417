#pragma once

#include "elements/ip/fragmenter.h"

namespace heddle {

/** TCPFragmenter: cuts long TCP segments into shorter ones.
 *
 *      TCPFragmenter(MTU)
 *
 *  MTU: most bytes of a packet from its IPv4 header (annotation l3) on, 41 to 65535. (Click's manual speaks of TCP's
 *  payload, but Click counts headers, too.) Packets that do not fit become several TCP packets with the headers of the
 *  first, options included, and what is before them; lengths, checksums and sequence numbers are their own. As network
 *  cards do that segment, CWR is set in the first one alone, FIN and PSH in the last one. Packets that are not TCP,
 *  fragments, and those whose headers leave no room within MTU pass unchanged. Push input, push output.
 *
 *  Packets that fit, and the pieces of others, leave in order, the latter right behind the batch that their packet came
 *  in. Drops: no IPv4 header at l3 ("no_header"), a length in it that is not the packet's ("bad_length"), more than
 *  1024 packets of a thread wait ("full"), no packet buffer is free ("no_buffer", the rest of the packet). RFC 9293.
 *
 *  Handlers: `fragments` (r): pieces made. `drops` (r): always 0.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> TCPFragmenter(1500) -> ToDump(out.pcap);
 */
class TCPFragmenter : public Fragmenter {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1"; }
  void run_cpu(Batch& batch) override;

 protected:
  Division divide(const uint8_t* ip, uint32_t done) const override;
  void write_headers(uint8_t* to, const uint8_t* ip, const Division& division, const Piece& piece) const override;
  uint32_t transport_at(const uint8_t* ip) const override { return (ip[0] & 15u) * 4; }
};

}  // namespace heddle
