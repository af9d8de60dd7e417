#pragma once

#include "elements/nat/rewriter.h"

namespace heddle {

/** IPRewriter: rewrites the addresses and ports of TCP and UDP flows (network address and port translation).
 *
 *      IPRewriter(INPUTSPEC, ... [, keywords MAPPING_CAPACITY, DST_ANNO, REPLY_ANNO, TCP_TIMEOUT, TCP_DONE_TIMEOUT,
 *                 TCP_NODATA_TIMEOUT, TCP_GUARANTEE, UDP_TIMEOUT, UDP_STREAMING_TIMEOUT, UDP_GUARANTEE])
 *
 *  Packets have an IPv4 header at annotation l3. One of a known flow, in either direction and by whichever input, is
 *  rewritten and leaves by the output of its mapping. For others, the input's INPUTSPEC says what to do:
 *
 *      drop                                       drop it ("refused"); also discard
 *      pass OUT                                   let it out, unchanged, without a mapping; also passthrough, nochange;
 *                                                 without OUT by output 0
 *      keep OUT BACK                              make a mapping that changes nothing
 *      pattern SADDR SPORT DADDR DPORT OUT BACK   make a mapping by a pattern; '-' leaves a part as it is; also
 *                                                 xpattern
 *      pattern SADDR DADDR SPORT OUT BACK         the same with '-' for DPORT
 *      pattern SADDR DADDR OUT BACK               the same with '-' for both ports
 *      NAME OUT BACK, pattern NAME OUT BACK       the same, with a pattern of IPRewriterPatterns
 *      NAME                                       the same, as that RoundRobinIPMapper or SourceIPHashMapper says
 *
 *  SADDR: an address, a range 10.0.0.1-10.0.0.9 or a network 10.0.0.0/24, without its first and last address. SPORT: a
 *  port or a range 1024-65535. Of a range of ports the flow's own is taken if it is in there and free; else, and of
 *  addresses, a free one at random. With ? behind the range it is always at random, with # in turn (1024-65535#,
 *  10.0.0.1-10.0.0.9#). DADDR: an address; DPORT: a port. Ports may be names (heddle elements PortInfo). The flow's
 *  packets leave by OUT, replies, with the rewriting undone, by BACK: an output of this element, where Click's parser
 *  also takes, without its manual, another rewriter's name behind it. As many INPUTSPECs as inputs. Push.
 *
 *  MAPPING_CAPACITY (or CAPACITY): most mappings, default 65536; each takes 128 to 192 bytes of memory as it comes, of
 *  a large table sooner, in pages of 2 MB, and more than the machine has is an error; or the name of another rewriter
 *  of any class, with which this one then has its mappings in common memory, as many together as that one may have.
 *  DST_ANNO: whether the annotation dst is set to the packet's destination, default true. REPLY_ANNO PAINT: replies get
 *  the paint annotation of the packet that made their mapping. Mappings end when no packet has come for UDP_TIMEOUT
 *  (default 5 min), UDP_STREAMING_TIMEOUT after three packets, at least one of either side (default: UDP_TIMEOUT),
 *  TCP_TIMEOUT (24 h), TCP_NODATA_TIMEOUT while not both sides have sent data (5 min), TCP_DONE_TIMEOUT after a FIN of
 *  both sides or a RST (4 min); looked at about once a second. When there is no room for a new mapping, the one goes
 *  that would end first of those that have had no packet for TCP_GUARANTEE, UDP_GUARANTEE (5 s; GUARANTEE sets both);
 *  of more than 4096, one of those that would end first of 4096 that are looked at together. With a guarantee of 0 the
 *  new flow is refused if it would be the first to end itself. Checksums are updated incrementally (RFC 1624; UDP's 0
 *  stays).
 *
 *  Drops: "no_header", "other_protocol", "fragment" (not the first one: put IPReassembler before it), "refused";
 *  "table_full": no mapping may go for a new one; "no_port": every port of the pattern that was tried, up to 4096,
 *  is in use. The specification `pass` lets other protocols and fragments through, too. RFC 3022; RFC 4787, RFC 5382:
 *  mappings depend on addresses and ports of both ends.
 *
 *  Hot reconfiguration: mappings stay, also those that another pattern would make otherwise; with another
 *  MAPPING_CAPACITY or fewer outputs those that find their place.
 *
 *  Handlers: `table` (r; `mappings` likewise): mappings, a line for either direction, "(FLOW) => (FLOW) [*OUT BACK]
 *  iINPUT idle TIME", with * before the direction's output; `tcp_table`, `udp_table` (r; `tcp_mappings`,
 *  `udp_mappings` likewise): those of one protocol; `tcp_lookup`, `udp_lookup` (r, SADDR SPORT DADDR DPORT; `lookup`:
 *  `tcp_lookup`): what that flow is rewritten to, nothing if it has no mapping; `nmappings`, `table_size` (r); `size`
 *  (r): with those of other rewriters that have their capacity in common; `capacity` (rw): when it is written, mappings
 *  that find no place any more are forgotten, in the order in which they go for new ones; `mapping_failures` (r);
 *  `patterns` (r): what is done with new connections, a line for each input, with the number of its mappings behind it
 *  if there are any, of which `pattern0`, `pattern1`, ... (rw) say one: written with an INPUTSPEC, it forgets the
 *  mappings that this input has made; `clear` (w), of all that have their capacity in common. With the same arguments,
 *  what handlers have written stays when the chain is reconfigured.
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
  nat::MappingTable::Limits limits(const nat::MappingTable::Idle& mapping) const override;
  /** What holds for flows of UDP. */
  nat::MappingTable::Limits udp_limits(const nat::MappingTable::Idle& mapping) const;
  virtual bool knows(uint8_t protocol) const { return protocol == kTcp || protocol == kUdp; }
  /** The kinds of flows that the handler `lookup` finds. */
  virtual std::vector<nat::Kind> looked_up() const { return {nat::Kind::tcp}; }

 private:
  int64_t tcp_ms_ = 86'400'000, tcp_done_ms_ = 240'000, tcp_nodata_ms_ = 300'000, udp_ms_ = 300'000,
          udp_streaming_ms_ = 300'000, tcp_guarantee_ms_ = kGuaranteeMs, udp_guarantee_ms_ = kGuaranteeMs;
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

/** UDPRewriter: rewrites the addresses and ports of UDP flows, and of TCP flows as if they were such.
 *
 *      UDPRewriter(INPUTSPEC, ... [, keywords TIMEOUT, STREAMING_TIMEOUT, GUARANTEE, ...])
 *
 *  As IPRewriter, for UDP and, like Click's, TCP, which has the same timeouts here: TIMEOUT (default 5 min),
 *  STREAMING_TIMEOUT (default: TIMEOUT) and GUARANTEE (5 s). Handler `lookup` (r, SADDR SPORT DADDR DPORT): what that
 *  flow is rewritten to, of UDP or else of TCP.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> IPFilter(allow udp)
 *          -> r :: UDPRewriter(pattern 1.0.0.1 1024-65535 - - 0 1) -> ToDump(out.pcap); r[1] -> Discard;
 */
class UDPRewriter : public IPRewriter {
 protected:
  int flow_of(const Ip4Header& ip, nat::FlowKey& flow, uint8_t& seen) const override;
  nat::MappingTable::Limits limits(const nat::MappingTable::Idle& mapping) const override {
    return udp_limits(mapping);
  }
  std::vector<nat::Kind> looked_up() const override { return {nat::Kind::udp, nat::Kind::tcp}; }
};

/** ICMPPingRewriter: rewrites the addresses and identifiers of pings.
 *
 *      ICMPPingRewriter(INPUTSPEC, ... [, keywords MAPPING_CAPACITY, DST_ANNO, REPLY_ANNO, TIMEOUT, GUARANTEE])
 *
 *  As IPRewriter, for ICMP echo requests and their replies: a flow is source, destination and identifier of the
 *  requests, and the identifier takes the place of the source port in patterns: `pattern SADDR DADDR IDENTIFIER OUT
 *  BACK`, or with four parts, of which DPORT is '-'. Other packets are "other_protocol".
 *  TIMEOUT: of mappings, default 5 min. GUARANTEE: as there, default 5 s. RFC 5508.
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
  nat::MappingTable::Limits limits(const nat::MappingTable::Idle&) const override { return limits_; }
  uint8_t usable_parts() const override {
    using enum nat::Pattern::Part;
    return kSourceAddress | kSourcePort | kDestinationAddress;
  }

 private:
  nat::MappingTable::Limits limits_{kGuaranteeMs, 300'000};
};

/** IPAddrRewriter: rewrites source addresses, one for one, whatever the protocol.
 *
 *      IPAddrRewriter(INPUTSPEC, ... [, keywords MAPPING_CAPACITY, DST_ANNO, REPLY_ANNO, TIMEOUT, GUARANTEE])
 *
 *  As IPRewriter, but a flow is all that has one source address; replies are known by that destination. Patterns are
 *  `pattern SADDR - OUT BACK` (or with four parts, of which the others are '-'): basic network address translation, RFC
 *  3022, 2.1. Fragments are rewritten like others. TIMEOUT: of mappings, default 24 h. GUARANTEE: as there, default 5
 *  s. Checksums of TCP and UDP are kept right.
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
  nat::MappingTable::Limits limits(const nat::MappingTable::Idle&) const override { return limits_; }
  uint8_t usable_parts() const override {
    using enum nat::Pattern::Part;
    return kSourceAddress;
  }
  bool reply_of(const Ip4Header& ip, nat::FlowKey& flow) const override;

 private:
  nat::MappingTable::Limits limits_{kGuaranteeMs, 86'400'000};
};

/** IPAddrPairRewriter: rewrites pairs of source and destination address, whatever the protocol.
 *
 *      IPAddrPairRewriter(INPUTSPEC, ... [, keywords MAPPING_CAPACITY, DST_ANNO, REPLY_ANNO, TIMEOUT, GUARANTEE])
 *
 *  As IPRewriter, but a flow is all that has one source and one destination address. Patterns are
 *  `pattern SADDR DADDR OUT BACK`. Fragments are rewritten like others. TIMEOUT: of mappings, default 24 h. GUARANTEE:
 *  as there, default 5 s. Checksums of TCP and UDP are kept right.
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
  nat::MappingTable::Limits limits(const nat::MappingTable::Idle&) const override { return limits_; }
  uint8_t usable_parts() const override {
    using enum nat::Pattern::Part;
    return kSourceAddress | kDestinationAddress;
  }

 private:
  nat::MappingTable::Limits limits_{kGuaranteeMs, 86'400'000};
};

}  // namespace heddle
