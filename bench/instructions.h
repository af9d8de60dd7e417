#pragma once

#include <functional>

namespace heddle::bench {

/** Instructions that a call of `work` executes, counted one by one in a process of its own (ptrace), so that it works
 *  where there are no counters; some microseconds an instruction. Calls it once before. What it changes is lost. Throws
 *  Error where processes may not be traced. */
double instructions_of(const std::function<void()>& work);

/** Cycles of the time stamp counter a second; 0 where there is none. */
double time_stamp_rate();

}  // namespace heddle::bench
