#pragma once

#include "core/element.h"

namespace heddle {

/** MarkIPHeader: marks where the IPv4 header is, without checking it.
 *
 *      MarkIPHeader([OFFSET])
 *
 *  OFFSET: byte of the packet where the IPv4 header begins, default 0, up to 16384; 14 in an Ethernet frame. Sets the
 *  annotations l3 (the header) and l4 (what follows it, by the length that the header says; the packet's end, if that
 *  comes before). One input, one output. Drops packets that end before 20 bytes of header ("short").
 *
 *  Example, repair checksums:
 *
 *      FromDump(in.pcap) -> MarkIPHeader(14) -> SetIPChecksum -> ToDump(out.pcap);
 */
class MarkIPHeader : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  int offset_ = 0;
};

/** MarkMACHeader: marks where the network header behind a MAC header is.
 *
 *      MarkMACHeader([OFFSET, LENGTH])
 *
 *  OFFSET: byte of the packet where the MAC header begins, default 0, up to 16384. LENGTH: its bytes, 14 in an Ethernet
 *  frame; annotation l3 is then set to its end. Default 0: packets pass unchanged, for here nothing asks for an
 *  annotation of the MAC header, which is what lies before the network header. One input, one output. Drops packets
 *  that end before the header does ("short").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> MarkMACHeader(0, 14) -> StripToNetworkHeader -> ToDump(ip.pcap);
 */
class MarkMACHeader : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  uint32_t offset_ = 0, bytes_ = 0;
};

}  // namespace heddle
