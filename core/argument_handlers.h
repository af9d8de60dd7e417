#pragma once

namespace heddle {

/** What an element is besides if its arguments are handlers as well: pattern0, pattern1, ... Reading one gives the
 *  argument, writing one reconfigures the chain, in which the element has another. */
class HasArgumentHandlers {
 public:
  virtual ~HasArgumentHandlers() = default;
  virtual const char* argument_handlers() const = 0;  ///< their name without the number: "pattern"
};

}  // namespace heddle
