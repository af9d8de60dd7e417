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
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "1/-"; }
  const char* processing() const override { return "h/h"; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<int> output_{0};
};

/** InputSwitch: lets packets of one input pass, which can be changed while packets flow.
 *
 *      InputSwitch([INPUT])
 *
 *  INPUT: number of the input, default 0; negative: drops all packets. Packets of other inputs are dropped
 *  ("switched_off"). Any number of push inputs, one push output. It is an error if there is no such input.
 *
 *  Handlers: `switch` (rw): INPUT; a number that is no input means -1. `config` (rw): the same.
 *
 *  Example:
 *
 *      FromDump(a.pcap) -> s :: InputSwitch(1) -> ToDump(out.pcap); FromDump(b.pcap) -> [1]s;
 */
class InputSwitch : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1-/1"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  Access access(Processor) const override { return {.column_reads = columns(Column::input)}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<int> input_{0};
};

}  // namespace heddle
