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
  const uint8_t flags = ports[13];
  if ((flags & kFin) != 0) seen |= MappingTable::kForwardEnd;
  if ((flags & kRst) != 0) seen |= MappingTable::kReset;
  if ((flags & (kSyn | kAck)) == kSyn) seen |= MappingTable::kStart;
  return -1;
}

void IPRewriter::rewrite(const Ip4Header& ip, const FlowKey& from, const FlowKey& to) const {
  rewrite_addresses(ip, from, to);
  if (from.source_port != to.source_port) rewrite_port(ip, ip.behind(), to.source_port);
  if (from.destination_port != to.destination_port) rewrite_port(ip, ip.behind() + 2, to.destination_port);
}

void IPRewriter::configure_timeouts(click::Arguments& arguments) {
  tcp_s_ = seconds(arguments, "TCP_TIMEOUT", tcp_s_);
  tcp_done_s_ = seconds(arguments, "TCP_DONE_TIMEOUT", tcp_done_s_);
  tcp_nodata_s_ = seconds(arguments, "TCP_NODATA_TIMEOUT", tcp_nodata_s_);
  udp_s_ = seconds(arguments, "UDP_TIMEOUT", seconds(arguments, "TIMEOUT", udp_s_));
  udp_streaming_s_ = seconds(arguments, "UDP_STREAMING_TIMEOUT", seconds(arguments, "STREAMING_TIMEOUT", udp_s_));
  for (const char* guarantee : {"TCP_GUARANTEE", "UDP_GUARANTEE", "GUARANTEE"}) seconds(arguments, guarantee, 5);
}

uint32_t IPRewriter::timeout_s(const MappingTable::Idle& mapping) const {
  const auto saw = [&](int what) { return (mapping.seen & what) == what; };
  const bool both = saw(MappingTable::kForward | MappingTable::kReply);
  if (mapping.kind == nat::Kind::udp) return both ? udp_streaming_s_ : udp_s_;
  if (saw(MappingTable::kReset) || saw(MappingTable::kForwardEnd | MappingTable::kReplyEnd)) return tcp_done_s_;
  return both ? tcp_s_ : tcp_nodata_s_;
}

void IPRewriter::handlers(Handlers& list) {
  Rewriter::handlers(list);
  if (knows(kTcp)) add_lookup(list, "tcp_lookup", nat::Kind::tcp);
  if (knows(kUdp)) add_lookup(list, "udp_lookup", nat::Kind::udp);
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
  timeout_s_ = seconds(arguments, "TIMEOUT", timeout_s_);
  seconds(arguments, "GUARANTEE", 5);
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
  timeout_s_ = seconds(arguments, "TIMEOUT", timeout_s_);
  seconds(arguments, "GUARANTEE", 5);
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
  timeout_s_ = seconds(arguments, "TIMEOUT", timeout_s_);
  seconds(arguments, "GUARANTEE", 5);
}

HEDDLE_ELEMENT(IPRewriter);
HEDDLE_ELEMENT(TCPRewriter);
HEDDLE_ELEMENT(UDPRewriter);
HEDDLE_ELEMENT(ICMPPingRewriter);
HEDDLE_ELEMENT(IPAddrRewriter);
HEDDLE_ELEMENT(IPAddrPairRewriter);

}  // namespace heddle
