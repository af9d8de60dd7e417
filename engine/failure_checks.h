#pragma once

#include <rte_cycles.h>

#include <cstdint>

namespace heddle {

/** When a thread that waits for a GPU looks whether that has failed: some 20 times a second, however long a round
 *  takes. */
class FailureChecks {
 public:
  /** Whether it is time after `rounds` in vain, one after the other. */
  bool due(uint64_t rounds) {
    constexpr uint64_t kTicksBetween = 1 << 27;
    if (rounds % 1024 != 0) return false;
    const uint64_t now = rte_rdtsc();
    if (now - last_ < kTicksBetween) return false;
    last_ = now;
    return true;
  }

 private:
  uint64_t last_ = 0;  // in ticks of the time stamp counter
};

}  // namespace heddle
