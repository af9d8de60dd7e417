#pragma once

namespace heddle {

class Batch;

/** An element that has a thread of its own do what packets ask for: a handler is called, a script answers. Where
 *  packets go through the chain one by one, as in Click (batches of one), the packet thread waits for it behind
 *  run_cpu(), until somebody waits for that thread. */
class ActsBeside {
 public:
  virtual ~ActsBeside() = default;
  /** Whether something that packets have asked for is still to be done. Called from packet threads. */
  virtual bool acts() const = 0;
  /** The packet thread has waited: what was done may have changed where the packets of `batch` go, which run_cpu() has
   *  marked. From the same thread. */
  virtual void acted(Batch& /*batch*/) {}
};

}  // namespace heddle
