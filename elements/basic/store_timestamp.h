#pragma once

#include "core/element.h"

namespace heddle {

/** StoreTimestamp: writes packets' time stamps into them.
 *
 *      StoreTimestamp([OFFSET, keywords OFFSET, TAIL])
 *
 *  Writes the time stamp, nanoseconds since 1970, in 8 bytes, the least significant one first, as Click does on x86-64.
 *  OFFSET: at this byte of the packet, 0 to 16384; shorter packets are made longer, with zeros in between. TAIL: true,
 *  behind the packet's end, which gets 8 bytes longer. One of the two must be given. Packets that have no time stamp
 *  (from ports) get the present time written. Checksums are not corrected. One input, one output. Drops packets that
 *  would be too long ("too_long").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> StoreTimestamp(TAIL true) -> ToDump(out.pcap);
 */
class StoreTimestamp : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }
  bool changes_length() const override { return true; }
  int appends() const override { return offset_ < 0 ? 8 : offset_ + 8; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  int offset_ = -1;  // -1: TAIL
};

}  // namespace heddle
