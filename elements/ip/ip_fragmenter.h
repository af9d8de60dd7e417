#pragma once

#include "elements/ip/fragmenter.h"

namespace heddle {

/** IPFragmenter: cuts long IPv4 packets into fragments.
 *
 *      IPFragmenter(MTU [, HONOR_DF, VERBOSE, keywords HONOR_DF, VERBOSE])
 *
 *  MTU: most bytes of a packet from its IPv4 header (annotation l3) on, 28 to 65535. HONOR_DF: whether packets that
 *  must not be fragmented are refused, default true; false fragments them, too. VERBOSE: whether such packets are
 *  reported on standard error, default false. What is before the header goes before each fragment. Push input, push
 *  outputs.
 *
 *  Output 0: packets that fit, and fragments, in order; they leave right behind the batch that their packet came in.
 *  Output 1, if connected: packets that do not fit and must not be fragmented ("dont_fragment"), or whose header leaves
 *  no room for eight bytes within MTU ("no_room"); if not, they are dropped. Other drops: no header at l3
 *  ("no_header"), a length in it that is not the packet's ("bad_length"), more than 1024 packets of a thread wait
 *  ("full"), no packet buffer is free ("no_buffer", the whole packet). RFC 791, 3.2: options without the copy bit are
 *  in the first fragment only; the headers of others are shorter.
 *
 *  Handlers: `drops` (r), `fragments` (r): fragments made.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> f :: IPFragmenter(576) -> Unstrip(14) -> ToDump(out.pcap);
 *      f[1] -> ICMPError(10.0.0.1, unreachable, needfrag, PMTU 576) -> Discard;
 */
class IPFragmenter : public Fragmenter {
 public:
  void configure(click::Arguments& arguments) override;
  void run_cpu(Batch& batch) override;

 protected:
  Division divide(const uint8_t* ip, uint32_t done) const override;
  void write_headers(uint8_t* to, const uint8_t* ip, const Division& division, const Piece& piece) const override;
  uint32_t transport_at(const uint8_t* ip) const override { return (ip[0] & 15u) * 4; }

 private:
  bool honor_df_ = true, verbose_ = false;
};

}  // namespace heddle
