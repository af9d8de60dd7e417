#pragma once

namespace heddle {

/** An element that has a thread of its own do what packets ask for: a handler is called, a script answers. Where
 *  packets go through the chain one by one, as in Click (batches of one), the packet thread waits for it behind
 *  run_cpu(), until somebody waits for that thread. */
class ActsBeside {
 public:
  virtual ~ActsBeside() = default;
  /** Whether something that packets have asked for is still to be done. Called from packet threads. */
  virtual bool acts() const = 0;
};

}  // namespace heddle
