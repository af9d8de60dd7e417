#pragma once

#include "elements/script/script.h"

namespace heddle {

/** PokeHandlers: writes handlers at some times.
 *
 *      PokeHandlers(DELAY or ELEMENT.HANDLER [VALUE] or quit or loop, ...)
 *
 *  Goes through its arguments from the start of the program on: waits DELAY (seconds, or 100ms, 1.5s, 2m), writes VALUE
 *  to a handler, stops the program (quit; DriverManager may see to that), begins again (loop). The program goes on
 *  until it has come to the end. What a handler refuses is reported on standard error, and the next argument follows.
 *  It is a Script with other words, and has its handlers; in VALUE $(HANDLER) stands for what that one gives. No ports.
 *
 *  Example:
 *
 *      RatedSource(RATE 10) -> c :: Counter -> Discard;
 *      PokeHandlers(1.5, c.reset, 0.5, quit);
 */
class PokeHandlers : public Script {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
};

/** PeekHandlers: prints what handlers give at some times.
 *
 *      PeekHandlers(DELAY or ELEMENT.HANDLER or quit or loop, ...)
 *
 *  As PokeHandlers, but prints the handler's name, a colon and, on the next line, its value, on standard error.
 *
 *  Example:
 *
 *      RatedSource(RATE 10) -> c :: Counter -> Discard;
 *      PeekHandlers(1, c.count, loop);
 */
class PeekHandlers : public Script {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
};

}  // namespace heddle
