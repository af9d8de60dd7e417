#pragma once

#include "core/element.h"

namespace heddle {

/** MarkIPHeader: marks where the IPv4 header is, without checking it.
 *
 *      MarkIPHeader([OFFSET])
 *
 *  OFFSET: byte of the packet where the IPv4 header begins, default 0, up to 16384; 14 in an Ethernet frame. Sets the
 *  annotations l3 (the header) and l4 (what follows it, by the length that the header says). One input, one output.
 *  Drops packets that end before 20 bytes of header, or before the header does by its own length ("short").
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

}  // namespace heddle
