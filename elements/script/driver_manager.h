#pragma once

#include "elements/script/script.h"

namespace heddle {

/** DriverManager: a script that decides when the program stops.
 *
 *      DriverManager(INSTRUCTION, ...)
 *
 *  A Script of TYPE DRIVER; see there. The program stops when it ends, and not before (but on Ctrl-C). Stop events make
 *  one `step` each: a call of the global handler `stop`, a `stop` of another Script, and that all sources are
 *  exhausted. So `pause`, `wait_stop` and `wait` without time wait for the first, with COUNT for as many. While it
 *  waits for a TIME, sources may run dry, as in Click: that is an event when it waits for one. Without instructions it
 *  waits for one. A chain has at most one. No ports.
 *
 *  Example, which gives a queue time to run empty:
 *
 *      DriverManager(pause, write source.active false, wait 0.1s, print q.length, stop);
 */
class DriverManager : public Script {
 public:
  DriverManager() : Script(Type::driver) {}
};

}  // namespace heddle
