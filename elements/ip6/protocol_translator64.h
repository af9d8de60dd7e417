#pragma once

#include "core/element.h"

namespace heddle {

/** ProtocolTranslator64: turns IPv6 packets into IPv4 packets (stateless).
 *
 *      ProtocolTranslator64
 *
 *  Packets begin with the IPv6 header. Both addresses must stand for IPv4 addresses: 64:ff9b::/96 (RFC 6052),
 *  ::ffff:0:0/96 or ::ffff:0:0:0/96. The IPv4 packet has traffic class, hop limit and payload of the IPv6 packet (what
 *  lies behind that is cut), no options, and the transport checksum of its addresses. Hop-by-hop, destination and
 *  used-up routing headers are left out; fragments stay fragments. A packet longer than 1260 bytes that is no fragment
 *  gets Don't Fragment. ICMPv6 pings and errors become ICMP, with the packet that an error is about. Sets the
 *  annotations dst, l3 and l4 (offset 20).
 *
 *  One input, one output. Dropped: "bad_header" (fewer bytes than headers say), "bad_checksum" (ICMPv6), "address" (no
 *  IPv4 address in it), "not_translatable" (routing headers with segments left, fragments of ICMPv6, messages that IPv4
 *  does not have: neighbour discovery). (RFC 7915, section 5; the hop limit is DecIP6HLIM's to decrement.)
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> DecIP6HLIM -> ProtocolTranslator64
 *          -> ToDump(out.pcap, ENCAP IP);
 */
class ProtocolTranslator64 : public Element {
 public:
  Access access(Processor) const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  std::atomic<uint16_t> identification_{0};
};

}  // namespace heddle
