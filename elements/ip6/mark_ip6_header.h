#pragma once

#include "core/element.h"

namespace heddle {

/** MarkIP6Header: marks where the IPv6 header is, without checking it.
 *
 *      MarkIP6Header([OFFSET])
 *
 *  OFFSET: byte of the packet where the IPv6 header begins, default 0, up to 16384; 14 in an Ethernet frame. Sets the
 *  annotations l3 (the header) and l4 (what follows its 40 bytes). One input, one output. Drops packets that end before
 *  40 bytes of header ("short").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> MarkIP6Header(14) -> DecIP6HLIM -> ToDump(out.pcap);
 */
class MarkIP6Header : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.column_writes = columns(Column::l3, Column::l4)}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  int offset_ = 0;
};

}  // namespace heddle
