#pragma once

#include <array>

#include "core/element.h"
#include "elements/ip6/gateways.h"

namespace heddle {

/** What IP6Encap and UDPIP6Encap have in common: an IPv6 header from SRC to DST, or to the address that the annotation
 *  dst has. */
class Ip6Encapsulation : public Element {
 public:
  bool can_live_reconfigure() const override { return true; }
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;

 protected:
  /** Reads DST. */
  void configure_destination(click::Arguments& arguments);
  /** What access() says besides the bytes. */
  Access column_access() const;
  /** Puts the header, whose first 8 bytes are `start` but for the length, and room for `more` bytes behind it before
   *  packet `i`, and sets annotations; null: it is dropped. */
  uint8_t* encapsulate(Batch& batch, int i, const std::array<uint8_t, 8>& start, int more);

  std::atomic<uint32_t> source_{0};  ///< the address's number as a gateway, in which it cannot change by halves

 private:
  std::atomic<uint32_t> destination_{0};  // the same
  bool from_annotation_ = false;
};

/** IP6Encap: puts an IPv6 header before packets.
 *
 *      IP6Encap(PROTO, SRC, DST [, keywords HLIM, CLASS])
 *
 *  PROTO: the next header, 0 to 255, or ip, ipip, icmp, tcp, udp, ip6, icmp6. SRC: source address. DST: destination
 *  address, or DST_ANNO: that of the annotation dst, which SetIP6Address and LookupIP6Route set. HLIM: hop limit,
 *  default 250. CLASS: traffic class, 0 to 255, default 0. Sets the annotations dst, l3 and l4. One input, one output.
 *  Drops packets without 40 bytes of room before them ("no_headroom"), those that would be too long ("too_long") and,
 *  with DST_ANNO, those without an address in the annotation ("no_destination"). RFC 8200, section 3.
 *
 *  Handlers: `src` (rw), `dst` (rw; it cannot be written if it is DST_ANNO).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> IP6Encap(ip, 2001:db8::1, 2001:db8::2, HLIM 20)
 *          -> EtherEncap(0x86dd, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
 */
class IP6Encap : public Ip6Encapsulation {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  int moves_head() const override { return -40; }
  int prepends() const override { return 40; }
  void run_cpu(Batch& batch) override;

 private:
  std::array<uint8_t, 8> start_{0x60};
};

/** UDPIP6Encap: puts a UDP and an IPv6 header before packets.
 *
 *      UDPIP6Encap(SRC, SPORT, DST, DPORT)
 *
 *  SRC, DST: addresses; DST may be DST_ANNO, as of IP6Encap. SPORT, DPORT: UDP ports or their names (heddle elements
 *  PortInfo). UDP's checksum is always computed, as IPv6 wants it; the hop limit is 250. Sets the annotations dst, l3
 *  and l4. One input, one output. Drops packets without 48 bytes of room before them ("no_headroom"), those that would
 *  be too long ("too_long") and, with DST_ANNO, those without an address in the annotation ("no_destination"). RFC 768;
 *  RFC 8200, section 8.1.
 *
 *  Handlers: `src`, `dst` (rw; it cannot be written if it is DST_ANNO), `sport`, `dport` (rw).
 *
 *  Example:
 *
 *      InfiniteSource(LIMIT 10) -> UDPIP6Encap(2001:db8::1, 1000, 2001:db8::2, 2000)
 *          -> EtherEncap(0x86dd, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
 */
class UDPIP6Encap : public Ip6Encapsulation {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  int moves_head() const override { return -48; }
  int prepends() const override { return 48; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint16_t> source_port_{0}, destination_port_{0};  // network byte order
};

}  // namespace heddle
