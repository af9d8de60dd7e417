#pragma once

namespace heddle {

/** An element whose memory the engine may ask for early (Element::looks_up), and that may look up faster otherwise. */
class AskedEarly {
 public:
  virtual ~AskedEarly() = default;
  /** Told by the plan, before anything is chosen or started, whether the engine calls prefetch() for batches some time
   *  before it runs them; may be told anew. An element that has found another way faster lets prefetch() do nothing. */
  virtual void asked_early(bool early) = 0;
};

}  // namespace heddle
