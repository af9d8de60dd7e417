#pragma once

#include "core/element.h"

namespace heddle {

/** PaintSwitch: chooses a packet's output by its paint annotation.
 *
 *      PaintSwitch([ANNO])
 *
 *  ANNO: PAINT (or its number in Click, 20), the only annotation of one byte that there is. One push input, any number
 *  of push outputs. Packets painted k leave by output k; if there is none, they are dropped ("no_output"). Unlike in
 *  Click this is also so for packets painted 255, which Click copies to every output.
 *
 *  Example:
 *
 *      FromDump(a.pcap) -> Paint(1) -> s :: PaintSwitch; FromDump(b.pcap) -> s;
 *      s[0] -> Discard; s[1] -> ToDump(c.pcap);
 */
class PaintSwitch : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/-"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override { return {.column_reads = columns(Column::paint)}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
