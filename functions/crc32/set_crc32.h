#pragma once

#include "core/element.h"
#include "functions/crc32/rule.h"

namespace heddle {

/** SetCRC32: appends a CRC-32 to packets.
 *
 *      SetCRC32([keywords VARIANT, DEVICE, BLOCKING])
 *
 *  Appends four bytes: the CRC-32 of the whole packet. VARIANT: `ieee` (default), the frame check sequence of IEEE
 *  802.3, 3.2.9, as it is on the wire (zlib's crc32, least significant byte first); or `click`, what Click's SetCRC32
 *  appends: the same generator (0x04c11db7) and start (32 ones), but most significant bit first, not complemented, and in the
 *  byte order of this machine. DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight,
 *  wait (true, default) or drop ("no_slot").
 *
 *  Drops packets whose buffer has no four bytes left behind them ("no_room"); on a GPU also those whose buffer has not
 *  enough for all SetCRC32 of the segment.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> SetCRC32 -> CheckCRC32 -> ToDump(same.pcap);
 */
class SetCRC32 : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool changes_length() const override { return true; }
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }
  std::span<const char* const> drop_reasons() const override;
  int appends() const override { return crc32::kBytes; }
  std::span<const std::byte> table() const override;
  void start(const Environment&) override;
  void run_cpu(Batch& batch) override;

 private:
  crc32::Variant variant_ = crc32::Variant::ieee;
  std::vector<std::byte> table_;
};

}  // namespace heddle
