#pragma once

#include <string>

namespace heddle {

/** An element that can work in several ways, not all of them on every kind of processor. */
class Chooses {
 public:
  virtual ~Chooses() = default;
  /** Told by the plan where the element is to run, after configure() and before tables are copied; may be told anew.
   *  Throws Error if it cannot run there as it has been configured; the text names the remedy. */
  virtual void placed(bool on_gpu) = 0;
  /** What it has chosen, and why, for `heddle plan`. */
  virtual std::string choice() const = 0;
};

}  // namespace heddle
