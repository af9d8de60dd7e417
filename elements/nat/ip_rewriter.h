#pragma once

#include "elements/nat/rewriter.h"

namespace heddle {

/** IPRewriter: rewrites the addresses and ports of TCP and UDP flows (network address and port translation).
 *
 *      IPRewriter(INPUTSPEC, ... [, keywords MAPPING_CAPACITY, DST_ANNO, TCP_TIMEOUT, TCP_DONE_TIMEOUT,
 *                 TCP_NODATA_TIMEOUT, UDP_TIMEOUT, UDP_STREAMING_TIMEOUT])
 *
 *  Packets have an IPv4 header at annotation l3. One of a known flow, in either direction and by whichever input, is
 *  rewritten and leaves by the output of its mapping. For others, the input's INPUTSPEC says what to do:
 *
 *      drop                                       drop it ("refused")
 *      pass OUT                                   let it out, unchanged, without a mapping
 *      keep OUT BACK                              make a mapping that changes nothing
 *      pattern SADDR SPORT DADDR DPORT OUT BACK   make a mapping by a pattern; '-' leaves a part as it is
 *      NAME OUT BACK                              the same, with a pattern of IPRewriterPatterns
 *
 *  SADDR: an address, a range 10.0.0.1-10.0.0.9 or a network 10.0.0.0/24. SPORT: a port or a range 1024-65535 of which
 *  a free one is chosen at random, or in turn with # behind it. DADDR: an address; DPORT: a port. The flow's packets
 *  leave by OUT, replies, with the rewriting undone, by BACK. As many INPUTSPECs as inputs. Push.
 *
 *  MAPPING_CAPACITY (or CAPACITY): most mappings, default 65536; each takes 192 bytes or a little more. DST_ANNO:
 *  whether the annotation dst is set to the packet's destination, default true. Mappings end when no packet has come
 *  for UDP_TIMEOUT (default 5 min), UDP_STREAMING_TIMEOUT if both sides have sent (default: UDP_TIMEOUT), TCP_TIMEOUT
 *  (24 h), TCP_NODATA_TIMEOUT while only one side has sent (5 min), TCP_DONE_TIMEOUT after a FIN of both sides or a RST
 *  (4 min); they are whole seconds, looked at about once a second. Checksums are updated incrementally (RFC 1624; UDP's
 *  0 stays).
 *
 *  Drops: "no_header", "other_protocol", "fragment" (not the first one: put IPReassembler before it), "refused";
 *  "table_full": there are MAPPING_CAPACITY mappings; "no_port": every port of the pattern that was tried, up to 4096,
 *  is in use. The specification `pass` lets other protocols and fragments through, too. RFC 3022; RFC 4787, RFC 5382:
 *  mappings depend on addresses and ports of both ends.
 *
 *  Hot reconfiguration: mappings stay, also those that another pattern would make otherwise; with another
 *  MAPPING_CAPACITY or fewer outputs those that find their place.
 *
 *  Handlers: `table`, `tcp_table`, `udp_table` (r): mappings; `tcp_lookup`, `udp_lookup` (r, SADDR SPORT DADDR DPORT):
 *  what that flow is rewritten to; `size`, `nmappings`, `table_size` (r); `capacity` (rw): when it is written, mappings
 *  that find no place any more are forgotten; `mapping_failures` (r); `patterns` (r): what is done with new
 *  connections, a line for each input, of which `pattern0`, `pattern1`, ... (rw) say one: written with an INPUTSPEC, it
 *  forgets the mappings that this input has made; `clear` (w). With the same arguments, what handlers have written
 *  stays when the chain is reconfigured.
 *
 *  Example:
 *
 *      FromDevice(in0) -> Strip(14) -> CheckIPHeader -> [0]r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 1, drop);
 *      FromDevice(out0) -> Strip(14) -> CheckIPHeader -> [1]r;
 *      r[0] -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToDevice(out0);
 *      r[1] -> EtherEncap(0x0800, 2:0:0:0:0:3, 2:0:0:0:0:4) -> ToDevice(in0);
 */
class IPRewriter : public Rewriter {
 public:
  void handlers(Handlers& list) override;

 protected:
  int flow_of(const Ip4Header& ip, nat::FlowKey& flow, uint8_t& seen) const override;
  void rewrite(const Ip4Header& ip, const nat::FlowKey& from, const nat::FlowKey& to) const override;
  void configure_timeouts(click::Arguments& arguments) override;
  uint32_t timeout_s(const nat::MappingTable::Idle& mapping) const override;
  virtual bool knows(uint8_t protocol) const { return protocol == kTcp || protocol == kUdp; }

 private:
  uint32_t tcp_s_ = 86400, tcp_done_s_ = 240, tcp_nodata_s_ = 300, udp_s_ = 300, udp_streaming_s_ = 300;
};

/** TCPRewriter: rewrites the addresses and ports of TCP flows.
 *
 *      TCPRewriter(INPUTSPEC, ... [, keywords])
 *
 *  As IPRewriter, for TCP alone: others are "other_protocol".
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> IPFilter(allow tcp)
 *          -> r :: TCPRewriter(pattern 1.0.0.1 1024-65535 - - 0 1) -> ToDump(out.pcap); r[1] -> Discard;
 */
class TCPRewriter : public IPRewriter {
 protected:
  bool knows(uint8_t protocol) const override { return protocol == kTcp; }
};

/** UDPRewriter: rewrites the addresses and ports of UDP flows.
 *
 *      UDPRewriter(INPUTSPEC, ... [, keywords TIMEOUT, STREAMING_TIMEOUT, ...])
 *
 *  As IPRewriter, for UDP alone: others are "other_protocol".
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> IPFilter(allow udp)
 *          -> r :: UDPRewriter(pattern 1.0.0.1 1024-65535 - - 0 1) -> ToDump(out.pcap); r[1] -> Discard;
 */
class UDPRewriter : public IPRewriter {
 protected:
  bool knows(uint8_t protocol) const override { return protocol == kUdp; }
};

/** ICMPPingRewriter: rewrites the addresses and identifiers of pings.
 *
 *      ICMPPingRewriter(INPUTSPEC, ... [, keywords MAPPING_CAPACITY, DST_ANNO, TIMEOUT])
 *
 *  As IPRewriter, for ICMP echo requests and their replies: a flow is source, destination and identifier of the
 *  requests, and the identifier takes the place of the source port in patterns. Other packets are "other_protocol".
 *  TIMEOUT: of mappings, default 5 min. RFC 5508.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> IPFilter(allow icmp)
 *          -> r :: ICMPPingRewriter(pattern 1.0.0.1 1024-65535 - - 0 1) -> ToDump(out.pcap); r[1] -> Discard;
 */
class ICMPPingRewriter : public Rewriter {
 protected:
  int flow_of(const Ip4Header& ip, nat::FlowKey& flow, uint8_t& seen) const override;
  void rewrite(const Ip4Header& ip, const nat::FlowKey& from, const nat::FlowKey& to) const override;
  void configure_timeouts(click::Arguments& arguments) override;
  uint32_t timeout_s(const nat::MappingTable::Idle&) const override { return timeout_s_; }

 private:
  uint32_t timeout_s_ = 300;
};

/** IPAddrRewriter: rewrites source addresses, one for one, whatever the protocol.
 *
 *      IPAddrRewriter(INPUTSPEC, ... [, keywords MAPPING_CAPACITY, DST_ANNO, TIMEOUT])
 *
 *  As IPRewriter, but a flow is all that has one source address; replies are known by that destination. Patterns are
 *  `pattern SADDR - OUT BACK` (or with four parts, of which the others are '-'): basic network address translation, RFC
 *  3022, 2.1. Fragments are rewritten like others. TIMEOUT: of mappings, default 24 h. Checksums of TCP and UDP are
 *  kept right.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader
 *          -> r :: IPAddrRewriter(pattern 1.0.0.1-1.0.0.99 - 0 1) -> ToDump(out.pcap); r[1] -> Discard;
 */
class IPAddrRewriter : public Rewriter {
 protected:
  int flow_of(const Ip4Header& ip, nat::FlowKey& flow, uint8_t& seen) const override;
  void rewrite(const Ip4Header& ip, const nat::FlowKey& from, const nat::FlowKey& to) const override;
  void configure_timeouts(click::Arguments& arguments) override;
  uint32_t timeout_s(const nat::MappingTable::Idle&) const override { return timeout_s_; }
  bool reply_of(const Ip4Header& ip, nat::FlowKey& flow) const override;

 private:
  uint32_t timeout_s_ = 86400;
};

/** IPAddrPairRewriter: rewrites pairs of source and destination address, whatever the protocol.
 *
 *      IPAddrPairRewriter(INPUTSPEC, ... [, keywords MAPPING_CAPACITY, DST_ANNO, TIMEOUT])
 *
 *  As IPRewriter, but a flow is all that has one source and one destination address. Patterns are
 *  `pattern SADDR DADDR OUT BACK`. Fragments are rewritten like others. TIMEOUT: of mappings, default 24 h. Checksums
 *  of TCP and UDP are kept right.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader
 *          -> r :: IPAddrPairRewriter(pattern 1.0.0.1 2.0.0.1 0 1) -> ToDump(out.pcap); r[1] -> Discard;
 */
class IPAddrPairRewriter : public Rewriter {
 protected:
  int flow_of(const Ip4Header& ip, nat::FlowKey& flow, uint8_t& seen) const override;
  void rewrite(const Ip4Header& ip, const nat::FlowKey& from, const nat::FlowKey& to) const override;
  void configure_timeouts(click::Arguments& arguments) override;
  uint32_t timeout_s(const nat::MappingTable::Idle&) const override { return timeout_s_; }

 private:
  uint32_t timeout_s_ = 86400;
};

}  // namespace heddle
