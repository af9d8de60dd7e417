#pragma once

#include "core/element.h"

namespace heddle {

/** Hub: sends each packet to all ports but its own.
 *
 *      Hub
 *
 *  As many inputs as outputs, two at least, push. A packet that comes by input i leaves by every output but i, as the
 *  copies of a Tee do. If no packet buffer is free, that copy is dropped ("no_buffer").
 *
 *  Example:
 *
 *      h :: Hub; FromDump(a.pcap) -> h -> ToDump(to_a.pcap); FromDump(b.pcap) -> [1] h [1] -> ToDump(to_b.pcap);
 */
class Hub : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "2-/2-"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  bool leads(int input, int output) const override { return input != output; }
  Access access(Processor) const override { return {.column_reads = columns(Column::input)}; }
  int copies() const override { return outputs; }
  bool copies_some() const override { return true; }
  int copies_to(Batch& batch, int output, uint16_t* which) override;
  void run_cpu(Batch&) override {}
};

}  // namespace heddle
