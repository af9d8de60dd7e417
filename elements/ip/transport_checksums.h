#pragma once

#include <array>

#include "core/element.h"

namespace heddle {

/** SetUDPChecksum: computes the checksum of UDP packets.
 *
 *      SetUDPChecksum
 *
 *  The IPv4 header is at annotation l3. One input, one output. Fragments pass unchanged. Drops packets that are no UDP
 *  or end before their UDP length does ("bad_header"). RFC 768.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow udp) -> SetUDPChecksum -> ToDump(out.pcap);
 */
class SetUDPChecksum : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
};

/** SetTCPChecksum: computes the checksum of TCP packets.
 *
 *      SetTCPChecksum([FIXOFF])
 *
 *  The IPv4 header is at annotation l3. FIXOFF: whether a data offset that leads behind the packet or into the header
 *  is corrected to 5, default false. One input, one output. Fragments pass unchanged. Drops packets that are no TCP or
 *  shorter than its header ("bad_header"). RFC 9293, 3.1.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow tcp) -> SetTCPChecksum -> ToDump(out.pcap);
 */
class SetTCPChecksum : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  bool fix_offset_ = false;
};

/** What CheckTCPHeader, CheckUDPHeader and CheckICMPHeader have in common. */
class CheckTransportHeader : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 protected:
  enum Reason : int { kNotThisProtocol, kBadLength, kBadChecksum, kReasons, kValid };
  /** Of a packet whose IPv4 header is `ip`, of `room` bytes (20 or more). */
  virtual Reason check(const uint8_t* ip, uint32_t header_bytes, uint32_t payload) const = 0;
  bool checksum_ = true;

 private:
  bool verbose_ = false, details_ = false;
  std::array<std::atomic<uint64_t>, kReasons> bad_{};
};

/** CheckTCPHeader: checks TCP packets.
 *
 *      CheckTCPHeader([keywords CHECKSUM, VERBOSE, DETAILS])
 *
 *  The IPv4 header is at annotation l3. Output 0: packets whose TCP header lies within the packet and whose checksum is
 *  right; fragments' and those' with CHECKSUM false are not looked at. Output 1, if connected: the others; if not, they
 *  are dropped: "not_this_protocol", "bad_length", "bad_checksum". CHECKSUM: default true. VERBOSE: whether bad packets
 *  are reported on standard error, default false. DETAILS: whether there is a handler drop_details, default false.
 *
 *  Handlers: `drops` (r), `drop_details` (r).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow tcp) -> CheckTCPHeader -> ToDump(out.pcap);
 */
class CheckTCPHeader : public CheckTransportHeader {
 protected:
  Reason check(const uint8_t* ip, uint32_t header_bytes, uint32_t payload) const override;
};

/** CheckUDPHeader: checks UDP packets.
 *
 *      CheckUDPHeader([keywords CHECKSUM, VERBOSE, DETAILS])
 *
 *  As CheckTCPHeader, for UDP: its length must lie within the packet, and its checksum be right or 0.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow udp) -> CheckUDPHeader -> ToDump(out.pcap);
 */
class CheckUDPHeader : public CheckTransportHeader {
 protected:
  Reason check(const uint8_t* ip, uint32_t header_bytes, uint32_t payload) const override;
};

/** CheckICMPHeader: checks ICMP packets.
 *
 *      CheckICMPHeader([keywords CHECKSUM, VERBOSE, DETAILS])
 *
 *  As CheckTCPHeader, for ICMP: packets are as long as their type wants at least, and the checksum is right.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow icmp) -> CheckICMPHeader -> ToDump(out.pcap);
 */
class CheckICMPHeader : public CheckTransportHeader {
 protected:
  Reason check(const uint8_t* ip, uint32_t header_bytes, uint32_t payload) const override;
};

}  // namespace heddle
