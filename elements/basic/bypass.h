#pragma once

#include "core/element.h"

namespace heddle {

/** Bypass: sends packets another way when it is told to.
 *
 *      Bypass([ACTIVE, keyword INLINE])
 *
 *  ACTIVE: whether packets take the other way, default false. One or two inputs, one or two outputs, all push or all
 *  pull. Pushed packets leave by output 0 or, if it is active and there is one, by output 1; those that come by input 1
 *  go on where output 0 leads. Pulled packets come from input 0 or, if it is active and there is one, from input 1;
 *  what pulls from output 1 gets those of input 0. INLINE is accepted for Click's sake.
 *
 *  Handlers: `active` (rw).
 *
 *  Example, packets are printed while b.active is true:
 *
 *      FromDump(in.pcap) -> b :: Bypass -> Discard; b[1] -> Print(seen) -> [1]b;
 */
class Bypass : public PullScheduler {  // where it is pulled
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1-2/1-2"; }
  const char* processing() const override { return "a/a"; }
  bool leads(int input, int output) const override { return input == 0 || output == 0; }
  void run_cpu(Batch& batch) override;
  int choose(int attempt) override;
  int quantum() const override { return chosen_ < 0 ? 0 : 64; }  // behind choose()
  void handlers(Handlers& list) override;

 private:
  bool active() const { return active_.load(std::memory_order_relaxed); }

  std::atomic<bool> active_{false};
  int chosen_ = 0;  // of the pull under way
};

}  // namespace heddle
