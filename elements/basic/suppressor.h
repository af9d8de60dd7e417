#pragma once

#include <memory>

#include "core/element.h"

namespace heddle {

/** Suppressor: lets packets pass, but those of inputs that handlers have closed.
 *
 *      Suppressor
 *
 *  As many inputs as outputs, each pair of them push or pull. Packets that come by input i leave by output i as long as
 *  i is active, as all are at first; else those that are pushed are dropped ("suppressed"), and nothing is pulled.
 *
 *  Handlers: `active0`, `active1`, ... (rw), one an input; `reset` (w, all are active again).
 *
 *  Example:
 *
 *      s :: Suppressor; FromDump(a.pcap) -> s -> ToDump(a.out); FromDump(b.pcap) -> [1] s [1] -> ToDump(b.out);
 *      Script(wait 1s, write s.active1 false);
 */
class Suppressor : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1-/1-"; }
  int lets_through(int thread, int input, int wanted) override;
  bool limits_pull() const override { return true; }
  bool tells_inputs() const override { return true; }
  bool leads(int input, int output) const override { return input == output; }
  Access access(Processor) const override { return {.column_reads = columns(Column::input)}; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::unique_ptr<std::atomic<bool>[]> suppressed_;  // [inputs]
};

}  // namespace heddle
