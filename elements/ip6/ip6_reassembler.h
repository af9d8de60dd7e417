#pragma once

#include "elements/ip/reassembler.h"

namespace heddle {

/** IP6Reassembler: puts fragments of IPv6 packets together.
 *
 *      IP6Reassembler([keywords HIMEM, TIMEOUT])
 *
 *  HIMEM: bytes of fragments that may wait, default 262144; when there are more, the oldest packets are given up
 *  ("no_memory"). TIMEOUT: how long a packet's fragments are waited for, default 60 s. The header is at annotation l3.
 *
 *  Output 0: packets that are no fragments, as they are, and whole ones, in place of the fragment that completes them,
 *  without a Fragment header, with what was before the first fragment's header, the extension headers that it had
 *  before its Fragment header, and the annotations of the one that came last; ECN is CE if any fragment has it. A
 *  packet with a Fragment header that is whole in one fragment is made one without. Output 1, if connected (it pushes):
 *  the first fragments of packets that have not become whole in time, for ICMP6Error(timeexceeded, reassembly); the
 *  others are dropped ("timeout").
 *
 *  Other drops: "no_header"; "bad_fragment", one that is not the last and whose length is no multiple of 8, one of a
 *  packet that would have more than 65,407 bytes, one without a part, whose Fragment header or part is not all there,
 *  or whose packet is a fragment, too; "header_chain", a first fragment that ends before the headers do, up to TCP's,
 *  UDP's or ICMPv6's, or another protocol's first byte; "duplicate", a fragment that has come before, byte by byte,
 *  alone; "overlap", fragments that overlap otherwise or do not agree about the end, with all others of their packet;
 *  "mixed_ecn", all fragments of a packet, if some are Not-ECT and some are not (as on Linux); "too_many", more than 64
 *  fragments of a packet; "no_buffer". At most 256 packets wait. Fragments of one packet may come to any thread. RFC
 *  8200, 4.5; RFC 3168, 5.3; RFC 5722; RFC 6946; RFC 7112.
 *
 *  Handlers: `waiting` (r): packets that wait; `whole` (r): packets made whole.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> IP6Reassembler -> Unstrip(14) -> ToDump(out.pcap);
 */
class IP6Reassembler : public Reassembler {
 public:
  IP6Reassembler() : Reassembler(60000) {}
  void run_cpu(Batch& batch) override;

 protected:
  void make_whole(uint8_t* ip, const uint8_t* first, uint32_t header_bytes, uint32_t bytes,
                  bool congested) const override;
  uint32_t transport_at(const uint8_t* ip) const override;

 private:
  void take_fragment(Batch& batch, int i, uint32_t header_bytes);
};

}  // namespace heddle
