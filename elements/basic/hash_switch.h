#pragma once

#include "core/element.h"

namespace heddle {

/** HashSwitch: chooses a packet's output by a hash of some of its bytes.
 *
 *      HashSwitch(OFFSET, LENGTH)
 *
 *  Hashes LENGTH bytes (1 to 16384) from byte OFFSET (0 to 16384) on; packets with equal bytes there leave by the same
 *  output. One push input, one or more push outputs. The hash is Click's: the sum d of the bytes; the output is d
 *  modulo the number of outputs, or, with 2, 4 or 8 outputs, the low bits of d xor d/16. A packet that ends before the
 *  last of these bytes leaves by output 0.
 *
 *  Example, by the addresses of IPv4 in Ethernet:
 *
 *      FromDump(in.pcap) -> h :: HashSwitch(26, 8); h[0] -> Queue -> Discard; h[1] -> Queue -> Discard;
 */
class HashSwitch : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  void run_cpu(Batch& batch) override;

 private:
  int offset_ = 0, length_ = 1;
};

}  // namespace heddle
