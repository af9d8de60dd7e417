#pragma once

#include <algorithm>
#include <cstdint>

namespace heddle::bench {

/** A rate that changes: in every other period, the second one first, only a share of the packets is due. */
struct Swing {
  double low = 1;         ///< that share, 0 to 1; 1: the rate does not change
  double period_s = 0.1;  ///< of each
};

/** When packets are due, in 2^-16 ticks of the time stamp counter since the start. */
class Pace {
 public:
  static constexpr int kFraction = 16;                  ///< bits of a tick
  static constexpr double kLongestStep_ticks = 0x1p46;  ///< so that no sum overflows: a second packet is never due

  /** Nothing is ever due. */
  Pace() = default;
  /** A packet every `step_ticks`, > 0; in every other one of periods of `period_ticks` every step_ticks / low. */
  Pace(double step_ticks, double low, double period_ticks)
      : step_{fixed(step_ticks), fixed(step_ticks / std::max(low, 1e-12))} {
    if (low < 1) period_ = turn_ = std::max<uint64_t>(1, fixed(period_ticks));
  }

  bool is_limited() const { return step_[0] != 0; }
  uint64_t step_ticks() const { return step_[0] >> kFraction; }  ///< outside slow periods

  uint64_t due() const { return due_; }  ///< the next packet
  void pass() { go(step_[slow_]); }      ///< to the one behind it
  /** To the first that is due at or after `time`; returns how many are passed over. */
  uint64_t skip_to(uint64_t time) {
    uint64_t passed = 0;
    while (due_ < time) {
      const uint64_t step = step_[slow_], count = (std::min(time, turn_) - due_ + step - 1) / step;
      passed += count;
      go(count * step);
    }
    return passed;
  }

 private:
  static uint64_t fixed(double ticks) {
    return std::max<uint64_t>(1, static_cast<uint64_t>(std::min(ticks, kLongestStep_ticks) * (1 << kFraction)));
  }
  void go(uint64_t by) {
    due_ += by;
    while (due_ >= turn_) {  // what is left of the step goes on at the new rate
      const double left = static_cast<double>(due_ - turn_) / static_cast<double>(step_[slow_]);
      slow_ = !slow_;
      due_ = turn_ + static_cast<uint64_t>(left * static_cast<double>(step_[slow_]));
      turn_ += period_;
    }
  }

  uint64_t step_[2] = {};  // fast, slow
  uint64_t due_ = 0, turn_ = UINT64_MAX, period_ = 0;
  bool slow_ = false;
};

}  // namespace heddle::bench
