#pragma once

#include "core/element.h"

namespace heddle {

/** Bypass: sends packets another way when it is told to.
 *
 *      Bypass([ACTIVE, keyword INLINE])
 *
 *  ACTIVE: whether packets leave by output 1, default false: by output 0. Push input, push outputs. INLINE is accepted
 *  for Click's sake. The way of output 1 leads on to where output 0 leads; Click's second input, by which it would come
 *  back here, is an error.
 *
 *  Handlers: `active` (rw).
 *
 *  Example, packets are printed while b.active is true:
 *
 *      FromDump(in.pcap) -> b :: Bypass -> d :: Discard; b[1] -> Print(seen) -> d;
 */
class Bypass : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/2"; }
  const char* processing() const override { return "h/h"; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<bool> active_{false};
};

}  // namespace heddle
