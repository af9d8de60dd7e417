#pragma once

#include "functions/crc32/crc32.h"

namespace heddle {

/** CheckCRC32: checks the CRC-32 at the end of packets and removes it.
 *
 *      CheckCRC32([keywords VARIANT, DEVICE, BLOCKING])
 *
 *  The last four bytes of a packet must be the CRC-32 of those before them, as SetCRC32 appends it; VARIANT (`ieee`,
 *  default, or `click`), DEVICE and BLOCKING are SetCRC32's.
 *
 *  Output 0: packets with a right CRC, without it. Output 1, if connected: the others, unchanged. If not, they are
 *  dropped: "bad_crc", or "short" (fewer than four bytes).
 *
 *  Example:
 *
 *      FromDump(with_fcs.pcap) -> c :: CheckCRC32 -> ToDump(good.pcap);
 *      c[1] -> ToDump(damaged.pcap);
 */
class CheckCRC32 : public Crc32Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {{Base::end, -4, 0}}}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
