#pragma once

#include <rte_cycles.h>

#include <atomic>
#include <cmath>
#include <cstdint>

#include "core/clock.h"

namespace heddle {

/** The same for one packet thread, which asks at every batch: looked up when a part of a millisecond has gone by, for
 *  the look-up takes longer than counting a batch. */
class BatchClock {
 public:
  uint64_t now_ms() {
    const uint64_t ticks = rte_rdtsc();
    if (ticks - looked_up_ > kTicks || RouterClock::simulated()) looked_up_ = ticks, now_ms_ = heddle::now_ms();
    return now_ms_;
  }

 private:
  static constexpr uint64_t kTicks = 1 << 18;  // 0.1 ms or so
  uint64_t looked_up_ = 0, now_ms_ = 0;
};

/** Events a second of late, as Click's Counter measures them: an exponentially weighted moving average over epochs of 1
 *  ms, of which each has the weight 1/16. One thread adds, any reads; who reads while an epoch ends may see it counted
 *  twice or not at all, once. */
class Rate {
 public:
  void add(uint64_t events, uint64_t now_ms) {
    uint64_t pending = pending_.load(std::memory_order_relaxed);
    if (now_ms != epoch_ms_.load(std::memory_order_relaxed)) {
      average_.store(per_second(now_ms), std::memory_order_relaxed);
      epoch_ms_.store(now_ms, std::memory_order_relaxed);
      pending = 0;
    }
    pending_.store(pending + events, std::memory_order_relaxed);
  }

  double per_second(uint64_t now_ms) const {
    const double average = average_.load(std::memory_order_relaxed);
    const uint64_t epoch_ms = epoch_ms_.load(std::memory_order_relaxed);
    if (now_ms <= epoch_ms) return average;
    const double in_epoch = 1000.0 * static_cast<double>(pending_.load(std::memory_order_relaxed));
    const double after_epoch = average + (in_epoch - average) * kWeight;
    // The others were empty.
    const double rate = after_epoch * std::pow(1 - kWeight, static_cast<double>(now_ms - epoch_ms - 1));
    return rate < kMin ? 0 : rate;
  }

 private:
  static constexpr double kWeight = 1.0 / 16;
  static constexpr double kMin = 1.0 / 1024;  // what is below is none, as with the fixed point of Click's
  std::atomic<double> average_{0};            // at the start of the epoch
  std::atomic<uint64_t> epoch_ms_{0}, pending_{0};
};

}  // namespace heddle
