#pragma once

#include "functions/crc32/crc32.h"

namespace heddle {

/** SetCRC32: appends a CRC-32 to packets.
 *
 *      SetCRC32([keywords VARIANT, DEVICE, BLOCKING])
 *
 *  Appends four bytes: the CRC-32 of the whole packet. VARIANT: `ieee` (default), the frame check sequence of IEEE
 *  802.3, 3.2.9, as it is on the wire (zlib's crc32, least significant byte first); or `click`, what Click's SetCRC32
 *  appends: the same generator (0x04c11db7) and start (32 ones), but most significant bit first, not complemented, and
 *  in the byte order of this machine. DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with all
 *  slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  Drops packets that are too long to get four bytes more ("no_room", above 65,403 bytes).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> SetCRC32 -> CheckCRC32 -> ToDump(same.pcap);
 */
class SetCRC32 : public Crc32Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }
  int appends() const override { return crc32::kBytes; }
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
