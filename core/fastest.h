#pragma once

#include <time.h>

#include <cstddef>

namespace heddle {

constexpr int kFastestRounds = 6;  ///< calls of each way by fastest()

/** The fastest of `count` ways to do the same, as their numbers 0 to count - 1: calls run(way) for each in turn, five
 *  times after one that does not count, and compares the least times. Takes the first unless another is faster by a
 *  twentieth, so that noise does not choose. The thread's own time is measured: the turns of others do not count. */
template <class Run>
size_t fastest(size_t count, const Run& run) {
  constexpr int kMaxWays = 8;
  constexpr double kWorthIt = 0.95;
  double least[kMaxWays] = {};
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  for (int round = 0; round < kFastestRounds; ++round)
    for (size_t way = 0; way < count; ++way) {
      const double start = now();
      run(way);
      const double seconds = now() - start;
      if (round <= 1 || seconds < least[way]) least[way] = seconds;
    }
  size_t best = 0;
  for (size_t way = 1; way < count; ++way)
    if (least[way] < least[best] * (best == 0 ? kWorthIt : 1)) best = way;
  return best;
}

}  // namespace heddle
