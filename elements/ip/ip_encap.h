#pragma once

#include <array>

#include "core/element.h"

namespace heddle {

/** IPEncap: puts an IPv4 header before packets.
 *
 *      IPEncap(PROTO, SRC, DST [, keywords TTL, TOS, DSCP, ECN, ECT, CE, ID, DF])
 *
 *  PROTO: 0 to 255, or ip, ipip, icmp, tcp, udp, ip6, icmp6. SRC: source address. DST: destination address, or
 *  DST_ANNO: that of the annotation dst. TTL: default 250. TOS: 0 to 255, or instead DSCP (0 to 63) and ECN (0 to 3),
 *  default 0. Instead of ECN, ECT: true or 1 is ECN 1, 2 is ECN 2; or CE true, which is ECN 3. DF: whether packets must
 *  not be fragmented, default false. The identification counts up. Sets the annotations dst, l3 and l4. One input, one
 *  output. Drops packets without 20 bytes of room before them ("no_headroom") and those that would be too long
 *  ("too_long"). RFC 791.
 *
 *  Handlers: `src` (rw), `dst` (rw; it cannot be written if it is DST_ANNO).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> IPEncap(4, 10.0.0.1, 10.0.0.2) -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2)
 *          -> ToDump(out.pcap);
 */
class IPEncap : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override;
  int moves_head() const override { return -20; }
  int prepends() const override { return 20; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::array<uint8_t, 20> header_{};
  std::atomic<uint32_t> source_{0}, destination_{0};  // network byte order
  bool from_annotation_ = false;
  std::atomic<uint32_t> identification_{0};
};

/** UDPIPEncap: puts a UDP and an IPv4 header before packets.
 *
 *      UDPIPEncap(SRC, SPORT, DST, DPORT [, CHECKSUM])
 *
 *  SRC, DST: addresses; DST may be DST_ANNO: that of the annotation dst. SPORT, DPORT: UDP ports or their names
 *  (heddle elements PortInfo). CHECKSUM: whether UDP's is computed, default true; else it is 0. TTL 250; the
 *  identification counts up. Sets the annotations dst, l3 and l4. One input, one output. Drops packets without 28 bytes
 *  of room before them ("no_headroom") and those that would be too long ("too_long"). RFC 768.
 *
 *  Handlers: `src`, `dst` (rw; it cannot be written if it is DST_ANNO), `sport`, `dport` (rw).
 *
 *  Example:
 *
 *      InfiniteSource(LIMIT 10) -> UDPIPEncap(10.0.0.1, 1000, 10.0.0.2, 2000)
 *          -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
 */
class UDPIPEncap : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override;
  int moves_head() const override { return -28; }
  int prepends() const override { return 28; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 protected:
  virtual void configure_more(click::Arguments&) {}
  uint32_t interval_ = 0;  // packets after which both ports are one higher; 0: never

 private:
  std::atomic<uint32_t> source_{0}, destination_{0};  // network byte order
  std::atomic<uint16_t> source_port_{0}, destination_port_{0};
  bool from_annotation_ = false, checksum_ = true;
  std::atomic<uint64_t> identification_{0};  // packets so far
};

/** DynamicUDPIPEncap: puts a UDP header, whose ports go up, and an IPv4 header before packets.
 *
 *      DynamicUDPIPEncap(SRC, SPORT, DST, DPORT [, CHECKSUM, INTERVAL])
 *
 *  As UDPIPEncap, but after INTERVAL packets, and again after as many, both ports are one higher, 0 coming after 65535;
 *  0 (default): never. Packets that are dropped here count.
 *
 *  Handlers: those of UDPIPEncap; `sport` and `dport` are the ports of the first packets.
 *
 *  Example:
 *
 *      InfiniteSource(LIMIT 100) -> DynamicUDPIPEncap(10.0.0.1, 1000, 10.0.0.2, 2000, true, 10)
 *          -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
 */
class DynamicUDPIPEncap : public UDPIPEncap {
 public:
  bool can_live_reconfigure() const override { return false; }

 protected:
  void configure_more(click::Arguments& arguments) override;
};

/** ICMPPingEncap: puts the header of a ping and an IPv4 header before packets.
 *
 *      ICMPPingEncap(SRC, DST [, keyword IDENTIFIER])
 *
 *  SRC, DST: addresses. IDENTIFIER: of the ICMP header, 0 to 65535, default 0. Packets become the data of ICMP echo
 *  requests, which are numbered from 1 on; TTL 255. Sets the annotations dst, l3 and l4. One input, one output. Drops
 *  packets without 28 bytes of room before them ("no_headroom") and those that would be too long ("too_long"). RFC 792.
 *
 *  Handlers: `src`, `dst` (rw).
 *
 *  Example:
 *
 *      InfiniteSource(LIMIT 10) -> ICMPPingEncap(10.0.0.1, 10.0.0.2, IDENTIFIER 7)
 *          -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
 */
class ICMPPingEncap : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  int moves_head() const override { return -28; }
  int prepends() const override { return 28; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> source_{0}, destination_{0};  // network byte order
  uint16_t identifier_ = 0;
  std::atomic<uint64_t> count_{0};
};

/** ICMPIPEncap: puts an ICMP and an IPv4 header before packets.
 *
 *      ICMPIPEncap(SRC, DST [, TYPE, CODE, keywords TYPE, CODE, IDENTIFIER, SEQUENCE])
 *
 *  SRC, DST: addresses. TYPE, CODE: of the ICMP header, 0 to 255, default 0. IDENTIFIER, SEQUENCE: its second four
 *  bytes, 0 to 65535 each, default 0. Packets become its data; TTL 255, the identification counts up. Sets the
 *  annotations dst, l3 and l4. One input, one output. Drops packets without 28 bytes of room before them
 *  ("no_headroom") and those that would be too long ("too_long"). RFC 792.
 *
 *  Handlers: `src`, `dst` (rw).
 *
 *  Example:
 *
 *      InfiniteSource(LIMIT 10) -> ICMPIPEncap(10.0.0.1, 10.0.0.2, TYPE 3, CODE 1)
 *          -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
 */
class ICMPIPEncap : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  int moves_head() const override { return -28; }
  int prepends() const override { return 28; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> source_{0}, destination_{0};  // network byte order
  uint8_t type_ = 0, code_ = 0;
  uint16_t identifier_ = 0, sequence_ = 0;
  std::atomic<uint32_t> identification_{0};
};

}  // namespace heddle
