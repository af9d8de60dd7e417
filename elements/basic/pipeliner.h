#pragma once

#include "elements/basic/queue.h"

namespace heddle {

/** Pipeliner: hands packets over to another packet thread.
 *
 *      Pipeliner([CAPACITY, keywords SIZE, BLOCKING])
 *
 *  CAPACITY or SIZE: packets that may wait, default 1024. BLOCKING: when it is full, wait (true, default) or drop at
 *  once. Nobody is waited for longer than 100 ms; packets are then dropped ("full"). Push input, push output: what
 *  follows runs on the thread that StaticThreadSched gives the Pipeliner (else on the first one). Order is kept for
 *  each thread that pushes. (FastClick.)
 *
 *  Handlers: those of Queue, and `dropped` (r).
 *
 *  Example, routing on one thread, sending on another (-j 2):
 *
 *      FromDPDKDevice(0) -> CheckIPHeader(14) -> p :: Pipeliner -> ToDPDKDevice(1); StaticThreadSched(p 1);
 */
class Pipeliner : public Queue {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return false; }
  const char* processing() const override { return "h/h"; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  bool blocking_ = true;
};

}  // namespace heddle
