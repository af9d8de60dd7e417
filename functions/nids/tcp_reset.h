#pragma once

#include "core/element.h"

namespace heddle {

/** TCPReset: turns TCP segments into the reset that answers them (RFC 9293, 3.10.7.1).
 *
 *      TCPReset()
 *
 *  An IPv4 packet becomes one of 40 bytes, an IPv6 packet one of 60 without extension headers, from its destination to
 *  its source, with RST, and nothing else of it remains; what is before the IP header stays. A segment with ACK is
 *  answered by a reset with the sequence number that it acknowledges, one without by an acknowledgement of all that it
 *  has. Sets the annotations dst (IPv6: 0) and l4. For rules with `reject`: behind output 2 of a NIDSConfirm.
 *
 *  Needs the annotations l3 and l4: put CheckIPHeader or CheckIP6Header before it. The reset goes to where the packet
 *  has come from, so what is behind mirrors the Ethernet addresses, or asks a routing table, behind a Queue if the
 *  packet has come from that.
 *
 *  Output 0: resets. Output 1, if connected: packets without a whole TCP header, as they are: an ICMPError, of IPv6 an
 *  ICMP6Error, answers them. If not, they are dropped ("not_tcp"). A reset is never answered ("is_reset").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> ids :: NIDS(local.rules);
 *      ids[0] -> out :: ToDump(out.pcap);
 *      ids[1] -> judge :: NIDSConfirm(ids) -> out;
 *      judge[1] -> Discard;
 *      judge[2] -> tcp :: TCPReset -> EtherMirror -> back :: ToDump(back.pcap);
 *      tcp[1] -> Strip(14) -> ICMPError(198.51.100.1, unreachable, port) -> Unstrip(14) -> back;
 */
class TCPReset : public Element {
 public:
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
