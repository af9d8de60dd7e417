#pragma once

#include "elements/ip/reassembler.h"

namespace heddle {

/** IPReassembler: puts fragments of IPv4 packets together.
 *
 *      IPReassembler([keywords HIMEM, TIMEOUT])
 *
 *  HIMEM: bytes of fragments that may wait, default 262144; when there are more, the oldest packets are given up
 *  ("no_memory"). TIMEOUT: how long a packet's fragments are waited for, default 30 s. The header is at annotation l3,
 *  and CheckIPHeader has cut what is behind the packet.
 *
 *  Output 0: packets that are no fragments, and whole ones, in place of the fragment that completes them, with what was
 *  before the first fragment's header, its options and the annotations of the one that came last; ECN is CE if any
 *  fragment has it. Output 1, if connected (it pushes): the first fragments of packets that have not become whole in
 *  time, for ICMPError (timeexceeded, reassembly); the others are dropped ("timeout"). Other drops: "no_header";
 *  "bad_fragment", one that is not the last and whose length is no multiple of 8, or one of a packet that would have
 *  more than 65,407 bytes; "duplicate", a fragment that has come before, byte by byte, alone; "overlap", fragments that
 *  overlap otherwise or do not agree about the end, with all others of their packet; "mixed_ecn", all fragments of a
 *  packet, if some are Not-ECT and some are not (as on Linux); "too_many", more than 64 fragments of a packet;
 *  "no_buffer". At most 256 packets wait. Fragments of one packet may come to any thread. RFC 791, 3.2; RFC 815; RFC
 *  3168, 5.3; overlaps as RFC 5722 wants for IPv6.
 *
 *  Handlers: `waiting` (r): packets that wait; `whole` (r): packets put together.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> IPReassembler -> Unstrip(14) -> ToDump(out.pcap);
 */
class IPReassembler : public Reassembler {
 public:
  IPReassembler() : Reassembler(30000) {}
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 protected:
  void make_whole(uint8_t* ip, const uint8_t* first, uint32_t header_bytes, uint32_t bytes,
                  bool congested) const override;
  uint32_t transport_at(const uint8_t* ip) const override;
};

}  // namespace heddle
