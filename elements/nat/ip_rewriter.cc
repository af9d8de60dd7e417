#include "elements/nat/ip_rewriter.h"

#include "click/arguments.h"
#include "elements/icmp/icmp_names.h"

namespace heddle {
namespace {

using nat::FlowKey;
using nat::MappingTable;

/** Words of an address or port that change, in a transport checksum and in the header's. */
void rewrite_addresses(const Ip4Header& ip, const FlowKey& from, const FlowKey& to) {
  if (from.source != to.source) rewrite_address(ip, ip.at + 12, to.source);
  if (from.destination != to.destination) rewrite_address(ip, ip.at + 16, to.destination);
}

constexpr uint8_t kFin = 1, kSyn = 2, kRst = 4, kAck = 16;

}  // namespace

int IPRewriter::flow_of(const Ip4Header& ip, FlowKey& flow, uint8_t& seen) const {
  if (!knows(ip.at[9])) return kOtherProtocol;
  if (!ip.first_fragment()) return kFragment;
  const bool tcp = ip.at[9] == kTcp;
  if (ip.payload() < (tcp ? 20u : 8u)) return kNoHeader;
  const uint8_t* ports = ip.behind();
  flow = {ip.source(), ip.destination(), load_u16(ports), load_u16(ports + 2), tcp ? nat::Kind::tcp : nat::Kind::udp};
  seen = MappingTable::kForward;
  if (!tcp) return -1;
  // Of a TCP connection, data counts.
  if (ip.payload() <= uint32_t{ports[12]} / 16 * 4) seen = 0;
  const uint8_t flags = ports[13];
  if ((flags & kFin) != 0) seen |= MappingTable::kForwardEnd;
  if ((flags & kRst) != 0) seen |= MappingTable::kReset;
  if ((flags & (kSyn | kAck)) == kSyn) seen |= MappingTable::kStart;
  return -1;
}

void IPRewriter::rewrite(const Ip4Header& ip, const FlowKey& from, const FlowKey& to) const {
  ChecksumChange change;
  if (from.source != to.source) change.add(from.source, to.source), store_u32(ip.at + 12, to.source);
  if (from.destination != to.destination)
    change.add(from.destination, to.destination), store_u32(ip.at + 16, to.destination);
  if (change) store_u16(ip.at + 10, change.applied_to(load_u16(ip.at + 10)));
  uint8_t* ports = ip.behind();
  if (from.source_port != to.source_port)
    change.add(from.source_port, to.source_port), store_u16(ports, to.source_port);
  if (from.destination_port != to.destination_port)
    change.add(from.destination_port, to.destination_port), store_u16(ports + 2, to.destination_port);
  uint8_t* checksum = change ? transport_checksum_field(ip) : nullptr;
  if (checksum == nullptr) return;
  store_u16(checksum, change.applied_to(load_u16(checksum)));
  keep_udp_checksum(ip, checksum);
}

void IPRewriter::configure_timeouts(click::Arguments& arguments) {
  tcp_ms_ = time_ms(arguments, "TCP_TIMEOUT", tcp_ms_);
  tcp_done_ms_ = time_ms(arguments, "TCP_DONE_TIMEOUT", tcp_done_ms_);
  tcp_nodata_ms_ = time_ms(arguments, "TCP_NODATA_TIMEOUT", tcp_nodata_ms_);
  udp_ms_ = time_ms(arguments, "UDP_TIMEOUT", time_ms(arguments, "TIMEOUT", udp_ms_));
  udp_streaming_ms_ = time_ms(arguments, "UDP_STREAMING_TIMEOUT", time_ms(arguments, "STREAMING_TIMEOUT", udp_ms_));
  const int64_t guarantee_ms = time_ms(arguments, "GUARANTEE", kGuaranteeMs);
  tcp_guarantee_ms_ = time_ms(arguments, "TCP_GUARANTEE", guarantee_ms);
  udp_guarantee_ms_ = time_ms(arguments, "UDP_GUARANTEE", guarantee_ms);
}

MappingTable::Limits IPRewriter::limits(const MappingTable::Idle& mapping) const {
  const auto saw = [&](int what) { return (mapping.seen & what) == what; };
  const bool both = saw(MappingTable::kForward | MappingTable::kReply);
  if (mapping.kind == nat::Kind::udp) return udp_limits(mapping);
  if (saw(MappingTable::kReset) || saw(MappingTable::kForwardEnd | MappingTable::kReplyEnd))
    return {tcp_guarantee_ms_, tcp_done_ms_};
  return {tcp_guarantee_ms_, both ? tcp_ms_ : tcp_nodata_ms_};
}

MappingTable::Limits IPRewriter::udp_limits(const MappingTable::Idle& mapping) const {
  constexpr int kStreaming = MappingTable::kForward | MappingTable::kReply | MappingTable::kThird;
  return {udp_guarantee_ms_, (mapping.seen & kStreaming) == kStreaming ? udp_streaming_ms_ : udp_ms_};
}

void IPRewriter::handlers(Handlers& list) {
  Rewriter::handlers(list);
  const auto add = [&](nat::Kind kind, const std::string& name) {
    add_table(list, (name + "_table").c_str(), kind), add_table(list, (name + "_mappings").c_str(), kind);
    add_lookup(list, (name + "_lookup").c_str(), {kind});
  };
  if (knows(kTcp)) add(nat::Kind::tcp, "tcp");
  if (knows(kUdp)) add(nat::Kind::udp, "udp");
  add_lookup(list, "lookup", looked_up());
}

int UDPRewriter::flow_of(const Ip4Header& ip, FlowKey& flow, uint8_t& seen) const {
  const int reason = IPRewriter::flow_of(ip, flow, seen);
  seen = MappingTable::kForward;
  return reason;
}

int ICMPPingRewriter::flow_of(const Ip4Header& ip, FlowKey& flow, uint8_t& seen) const {
  if (ip.at[9] != kIcmp) return kOtherProtocol;
  if (!ip.first_fragment()) return kFragment;
  if (ip.payload() < 8) return kNoHeader;
  const uint8_t* icmp = ip.behind();
  if (icmp[0] != kEcho && icmp[0] != kEchoReply) return kOtherProtocol;
  const uint16_t identifier = load_u16(icmp + 4);
  flow = {ip.source(), ip.destination(), 0, 0, nat::Kind::ping};
  (icmp[0] == kEcho ? flow.source_port : flow.destination_port) = identifier;
  seen = MappingTable::kForward;
  return -1;
}

void ICMPPingRewriter::rewrite(const Ip4Header& ip, const FlowKey& from, const FlowKey& to) const {
  rewrite_addresses(ip, from, to);
  uint8_t* icmp = ip.behind();
  const uint16_t identifier = icmp[0] == kEcho ? to.source_port : to.destination_port;
  if (identifier == load_u16(icmp + 4)) return;
  rewrite_u16(icmp + 4, identifier, icmp + 2);
  keep_icmp_checksum(ip);
}

void ICMPPingRewriter::configure_timeouts(click::Arguments& arguments) {
  limits_ = {time_ms(arguments, "GUARANTEE", limits_.guarantee), time_ms(arguments, "TIMEOUT", limits_.timeout)};
}

int IPAddrRewriter::flow_of(const Ip4Header& ip, FlowKey& flow, uint8_t& seen) const {
  flow = {ip.source(), 0, 0, 0, nat::Kind::address};
  seen = MappingTable::kForward;
  return -1;
}

bool IPAddrRewriter::reply_of(const Ip4Header& ip, FlowKey& flow) const {
  flow = {0, ip.destination(), 0, 0, nat::Kind::address};
  return true;
}

void IPAddrRewriter::rewrite(const Ip4Header& ip, const FlowKey& from, const FlowKey& to) const {
  if (from.source != to.source) rewrite_address(ip, ip.at + 12, to.source);
  if (from.destination != to.destination) rewrite_address(ip, ip.at + 16, to.destination);
}

void IPAddrRewriter::configure_timeouts(click::Arguments& arguments) {
  limits_ = {time_ms(arguments, "GUARANTEE", limits_.guarantee), time_ms(arguments, "TIMEOUT", limits_.timeout)};
}

int IPAddrPairRewriter::flow_of(const Ip4Header& ip, FlowKey& flow, uint8_t& seen) const {
  flow = {ip.source(), ip.destination(), 0, 0, nat::Kind::pair};
  seen = MappingTable::kForward;
  return -1;
}

void IPAddrPairRewriter::rewrite(const Ip4Header& ip, const FlowKey& from, const FlowKey& to) const {
  rewrite_addresses(ip, from, to);
}

void IPAddrPairRewriter::configure_timeouts(click::Arguments& arguments) {
  limits_ = {time_ms(arguments, "GUARANTEE", limits_.guarantee), time_ms(arguments, "TIMEOUT", limits_.timeout)};
}

HEDDLE_ELEMENT(IPRewriter);
HEDDLE_ELEMENT(TCPRewriter);
HEDDLE_ELEMENT(UDPRewriter);
HEDDLE_ELEMENT(ICMPPingRewriter);
HEDDLE_ELEMENT(IPAddrRewriter);
HEDDLE_ELEMENT(IPAddrPairRewriter);

}  // namespace heddle
