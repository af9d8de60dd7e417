#pragma once

#include "core/element.h"

namespace heddle {

/** StaticSwitch: sends every packet to one output.
 *
 *      StaticSwitch(OUTPUT)
 *
 *  OUTPUT: number of the output; negative, or one that is not there: drops all packets ("switched_off"). Push input,
 *  any number of push outputs. Unlike that of Switch, OUTPUT stays as it is while packets flow.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> s :: StaticSwitch(1); s[0] -> Discard; s[1] -> ToDump(out.pcap);
 */
class StaticSwitch : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/-"; }
  const char* processing() const override { return "h/h"; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  uint16_t next_ = kDrop;
};

}  // namespace heddle
