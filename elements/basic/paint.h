#pragma once

#include "core/element.h"

namespace heddle {

/** Paint: sets packets' paint annotation.
 *
 *      Paint(COLOR [, ANNO])
 *
 *  COLOR: 0 to 255. ANNO: PAINT (or its number in Click, 20), the only annotation that can be painted. Packets start
 *  with paint 0. One input, one output. Runs inside segments of either processor.
 *
 *  Handlers: `color` (rw). On a GPU it cannot be written.
 *
 *  Example:
 *
 *      FromDump(a.pcap) -> Paint(1) -> s :: PaintSwitch; FromDump(b.pcap) -> s;
 *      s[0] -> Discard; s[1] -> ToDump(c.pcap);
 */
class Paint : public NeutralElement {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  std::optional<NeutralOp> neutral() const override { return NeutralOp{NeutralOp::kPaint, color_.load()}; }
  void handlers(Handlers& list) override;

 private:
  std::atomic<int> color_{0};
};

}  // namespace heddle
