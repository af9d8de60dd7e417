#pragma once

#include "core/element.h"

namespace heddle {

/** Switch: sends every packet to one output, which can be changed while packets flow.
 *
 *      Switch([OUTPUT])
 *
 *  OUTPUT: number of the output, default 0; negative: drops all packets ("switched_off"). Push input, any number of
 *  push outputs. It is an error if there is no such output.
 *
 *  Handlers: `switch` (rw): OUTPUT; a number that is no output means -1, as in Click. `config` (rw): the same.
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> s :: Switch(0) -> ToDPDKDevice(1); s[1] -> ToDump(out.pcap);
 */
class Switch : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/-"; }
  const char* processing() const override { return "h/h"; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<int> output_{0};
};

}  // namespace heddle
