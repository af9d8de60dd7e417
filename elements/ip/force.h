#pragma once

#include <random>
#include <string>
#include <vector>

#include "core/element.h"

namespace heddle {

/** ForceIP: makes packets into valid IPv4 packets.
 *
 *      ForceIP
 *
 *  The IPv4 header begins where the packet does. Its version becomes 4; its header length, if it is below 20 bytes or
 *  beyond the packet's end, 20; its total length that of the packet; identification, addresses, protocol, TTL and
 *  options stay. The packet is no fragment (Click leaves one in eight as it is), and the checksum is right. Sets the
 *  annotations l3 and l4. One input, one output. Drops packets of less than 20 bytes ("short"). RFC 791, 3.1.
 *
 *  Example:
 *
 *      RandomSource(64, LIMIT 100) -> SetIPAddress(10.0.0.2) -> StoreIPAddress(16) -> ForceIP -> ForceUDP(53)
 *          -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToDump(out.pcap);
 */
class ForceIP : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
};

/** What ForceTCP, ForceUDP and ForceICMP have in common. */
class ForceTransport : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;

 protected:
  /** `least`: bytes of the shortest header of `protocol`. */
  ForceTransport(uint8_t protocol, uint32_t least) : protocol_(protocol), least_(least) {}
  /** Sets fields and checksum of the segment at `at`, of `bytes`, `least` or more, behind the IPv4 header `ip`;
   *  `number`: packets that have come before; `random`: the thread's. */
  virtual void force(const uint8_t* ip, uint8_t* at, uint32_t bytes, uint64_t number, std::mt19937& random) const = 0;

 private:
  uint8_t protocol_;
  uint32_t least_;
  std::atomic<uint64_t> count_{0};
  std::vector<std::mt19937> random_;  // by thread
};

/** ForceTCP: makes IPv4 packets into valid TCP packets.
 *
 *      ForceTCP([DPORT, RANDOM_DPORT, FLAGS])
 *
 *  DPORT: the destination port that they get; 0 (default) or -1: none. RANDOM_DPORT: whether without DPORT some get
 *  another one, default false: of each eight packets two get 80 and one a number below 1024 at random. FLAGS: byte 13
 *  of the header, 0 to 255; -1 (default): as it is. A data offset that leads into the header or behind the packet
 *  becomes 5, and the checksum is right. The IPv4 header is at annotation l3; its protocol becomes TCP. One input, one
 *  output. Fragments pass unchanged. Drops packets that end before their IPv4 length does, or leave no room for 20
 *  bytes of TCP ("bad_header"). RFC 9293, 3.1.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> MarkIPHeader(14) -> ForceTCP(80, FLAGS 2) -> ToDump(out.pcap);
 */
class ForceTCP : public ForceTransport {
 public:
  ForceTCP();
  void configure(click::Arguments& arguments) override;

 protected:
  void force(const uint8_t* ip, uint8_t* at, uint32_t bytes, uint64_t number, std::mt19937& random) const override;

 private:
  int port_ = 0, flags_ = -1;
  bool random_port_ = false;
};

/** ForceUDP: makes IPv4 packets into valid UDP packets.
 *
 *      ForceUDP([DPORT])
 *
 *  DPORT: the destination port that they get, 0 to 65535; -1 (default): a number below 1024 at random, as in Click. The
 *  UDP length becomes that of what is behind the IPv4 header, and the checksum is right. The IPv4 header is at
 *  annotation l3; its protocol becomes UDP. One input, one output. Fragments pass unchanged. Drops packets that end
 *  before their IPv4 length does, or leave no room for 8 bytes of UDP ("bad_header"). RFC 768.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> MarkIPHeader(14) -> ForceUDP(53) -> ToDump(out.pcap);
 */
class ForceUDP : public ForceTransport {
 public:
  ForceUDP();
  void configure(click::Arguments& arguments) override;

 protected:
  void force(const uint8_t* ip, uint8_t* at, uint32_t bytes, uint64_t number, std::mt19937& random) const override;

 private:
  int port_ = -1;
};

/** ForceICMP: makes IPv4 packets into valid ICMP packets.
 *
 *      ForceICMP([TYPE, CODE])
 *
 *  TYPE: the type that they get, a number from 0 to 255 or a name such as echo, echo-reply or unreachable; CODE: the
 *  code, a number or a name of that type such as host. Without them the packet's own stay. The checksum is right. The
 *  IPv4 header is at annotation l3; its protocol becomes ICMP. One input, one output. Fragments pass unchanged. Drops
 *  packets that end before their IPv4 length does, or leave no room for 8 bytes of ICMP ("bad_header"). RFC 792.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> MarkIPHeader(14) -> ForceICMP(unreachable, host) -> ToDump(out.pcap);
 */
class ForceICMP : public ForceTransport {
 public:
  ForceICMP();
  void configure(click::Arguments& arguments) override;

 protected:
  void force(const uint8_t* ip, uint8_t* at, uint32_t bytes, uint64_t number, std::mt19937& random) const override;

 private:
  int type_ = -1, code_ = -1;
};

}  // namespace heddle
