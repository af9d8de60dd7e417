#pragma once

#include <time.h>

namespace heddle::gpu {

/** Microseconds of the monotonic clock, for differences. */
inline double us_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

}  // namespace heddle::gpu
