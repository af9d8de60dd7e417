#pragma once

#include "core/element.h"

namespace heddle {

/** CPUPaint: paints packets with the number of the packet thread.
 *
 *      CPUPaint([ANNO])
 *
 *  ANNO: PAINT (or its number in Click, 20), the only annotation of one byte that there is. One input, one output.
 *  Threads are numbered from 0. (FastClick.)
 *
 *  Example, after packets of several threads have met in a queue:
 *
 *      FromDPDKDevice(0) -> CPUPaint -> Queue -> Unqueue -> s :: PaintSwitch; s[0] -> Discard; s[1] -> Discard;
 */
class CPUPaint : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.column_writes = columns(Column::paint)}; }
  void run_cpu(Batch& batch) override;
};

}  // namespace heddle
