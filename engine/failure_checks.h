#pragma once

#include <rte_cycles.h>

#include <cstdint>

#include "core/clock.h"

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

/** How long the end of the program waits for a GPU that does nothing. */
class Patience {
 public:
  static constexpr int kSeconds = 10;

  /** Asked now and then. `waits`: whether the thread waits for the GPU so that it can end; `progress`: changes whenever
   *  the GPU has taken or given back a packet. True when it has waited for kSeconds without any. */
  bool is_over(bool waits, uint64_t progress) {
    const uint64_t now = rte_rdtsc();
    if (!waits || progress != progress_) since_ = 0;
    progress_ = progress;
    if (!waits) return false;
    if (since_ == 0) since_ = now;
    return static_cast<double>(now - since_) > kSeconds * tsc_hz();
  }

 private:
  uint64_t progress_ = 0;
  uint64_t since_ = 0;  // in ticks of the time stamp counter; 0: it does not wait
};

}  // namespace heddle
