#pragma once

#include "core/element.h"

namespace heddle {

/** StripIPHeader: removes the IPv4 header and what is before it.
 *
 *      StripIPHeader
 *
 *  The header is the one that CheckIPHeader or MarkIPHeader has marked (annotation l3); packets then begin behind it,
 *  options included. One input, one output. Drops packets without such a header ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> StripIPHeader -> Print(payload) -> Discard;
 */
class StripIPHeader : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  void run_cpu(Batch& batch) override;
};

/** UnstripIPHeader: takes what is from the IPv4 header on back.
 *
 *      UnstripIPHeader
 *
 *  Packets begin again at the header that CheckIPHeader or MarkIPHeader has marked (annotation l3), with what
 *  StripIPHeader, StripTCPHeader or Strip have removed since; others pass unchanged. One input, one output. Drops
 *  packets without such a header ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> StripIPHeader -> Print(payload) -> UnstripIPHeader -> ToDump(ip.pcap);
 */
class UnstripIPHeader : public Element {
 public:
  Access access(Processor) const override { return {.column_reads = columns(Column::l3)}; }
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  void run_cpu(Batch& batch) override;
};

/** StripToNetworkHeader: removes what is before the network header.
 *
 *      StripToNetworkHeader
 *
 *  The header is the one at annotation l3, which CheckIPHeader, MarkIPHeader and others set; packets that begin there,
 *  or behind it, pass unchanged. One input, one output. Drops packets without such a header ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> StripToNetworkHeader -> ToDump(ip.pcap);
 */
class StripToNetworkHeader : public Element {
 public:
  Access access(Processor) const override { return {.column_reads = columns(Column::l3)}; }
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  void run_cpu(Batch& batch) override;
};

/** StripTCPHeader: removes the TCP header and what is before it.
 *
 *      StripTCPHeader
 *
 *  The header is the one at annotation l4, which CheckIPHeader or MarkIPHeader has set, of a packet that is known to be
 *  TCP; packets then begin behind it, options included. One input, one output. Drops packets without such a header
 *  ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow tcp) -> StripTCPHeader -> Print(payload) -> Discard;
 */
class StripTCPHeader : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  void run_cpu(Batch& batch) override;
};

/** StripTransportHeader: removes the TCP, UDP or ICMP header and what is before it.
 *
 *      StripTransportHeader
 *
 *  The IPv4 header is the one at annotation l3, whose protocol says what is at annotation l4; CheckIPHeader and
 *  MarkIPHeader set both. Packets then begin behind a TCP header with its options, or the 8 bytes of one of UDP or
 *  ICMP. One input, one output. Drops packets without such a header, also later fragments and those of other protocols
 *  ("no_header"). (FastClick.)
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> StripTransportHeader -> Print(payload) -> Discard;
 */
class StripTransportHeader : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  void run_cpu(Batch& batch) override;
};

/** UnstripTCPHeader: takes what is from the TCP header on back.
 *
 *      UnstripTCPHeader
 *
 *  Packets begin again at annotation l4, which CheckIPHeader or MarkIPHeader has set, with what StripTCPHeader or Strip
 *  have removed since; others pass unchanged. One input, one output. Drops packets without such a header ("no_header").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow tcp) -> StripTCPHeader -> Print(payload)
 *          -> UnstripTCPHeader -> UnstripIPHeader -> ToDump(ip.pcap);
 */
class UnstripTCPHeader : public Element {
 public:
  Access access(Processor) const override { return {.column_reads = columns(Column::l4)}; }
  std::span<const char* const> drop_reasons() const override;
  bool changes_length() const override { return true; }
  bool head_varies() const override { return true; }
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
