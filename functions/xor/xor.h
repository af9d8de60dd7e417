#pragma once

#include "core/element.h"
#include "functions/xor/rule.h"

namespace heddle {

/** XOR: changes every byte of a packet: a test function that moves as many bytes as any function can.
 *
 *      XOR([KEY, keywords DEVICE, BLOCKING])
 *
 *  KEY: 0 to 255, default 90 (0x5a); every byte becomes byte XOR KEY, so that two XORs of one key give the packet back.
 *  DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true, default)
 *  or drop ("no_slot"). Reads and writes the whole packet. Drops nothing.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> XOR(DEVICE gpu) -> XOR(DEVICE cpu) -> ToDump(same.pcap);
 */
class Xor : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }
  void run_cpu(Batch& batch) override;

 private:
  FixedTable<xor_bytes::Key> key_;
};

}  // namespace heddle
