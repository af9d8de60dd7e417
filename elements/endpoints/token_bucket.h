#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "core/clock.h"

namespace heddle {

/** Says how many packets are due: `rate` a second on average, never more than its capacity at once. One thread takes,
 *  any may set the rate. */
class TokenBucket {
 public:
  /** The capacity is that of Click's sources: 10 ms of the rate, two packets at least. */
  void set_rate(double rate_per_s) { rate_per_s_.store(rate_per_s, std::memory_order_relaxed); }
  double rate_per_s() const { return rate_per_s_.load(std::memory_order_relaxed); }

  /** Tokens there are now; forgets those that do not fit. */
  int available() {
    const double rate = rate_per_s();
    const auto now = RouterClock::now();
    if (filled_at_ != RouterClock::time_point{})
      tokens_ += std::chrono::duration<double>(now - filled_at_).count() * rate;
    filled_at_ = now;
    tokens_ = std::min(tokens_, std::max(2.0, rate / 100));
    const auto whole = static_cast<int>(tokens_ + kRounding);
    if (whole == 0 && rate > 0) RouterClock::wait_for(now + RouterClock::seconds((1 - tokens_) / rate));
    return whole;
  }
  void take(int tokens) { tokens_ -= tokens; }

 private:
  static constexpr double kRounding = 1e-6;

  std::atomic<double> rate_per_s_{0};
  double tokens_ = 1;  // the first packet is due at once
  RouterClock::time_point filled_at_{};
};

}  // namespace heddle
