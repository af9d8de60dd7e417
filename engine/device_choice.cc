#include "engine/device_choice.h"

#include <algorithm>

namespace heddle {

void DeviceChoice::on_cpu(int packets, uint64_t now) {
  if (packets < kFullBatch) {
    if (packets > 0) streak_ = 0;
    return;
  }
  if (streak_++ == 0) {
    done_packets_ = done_ticks_ = slowest_packets_ = slowest_ticks_ = 0;
  } else {
    const uint64_t ticks = now - batch_began_;
    done_packets_ += batch_packets_;
    done_ticks_ += ticks;
    if (ticks > slowest_ticks_) {
      slowest_ticks_ = ticks;
      slowest_packets_ = batch_packets_;
    }
    if (streak_ > streak_wanted_) {
      cpu_rate_ = static_cast<double>(done_packets_ - slowest_packets_) /
                  seconds(std::max(done_ticks_ - slowest_ticks_, uint64_t{1}));
      streak_ = 0;
      if (now >= paused_until_) to_gpu(now);
    }
  }
  batch_began_ = now;
  batch_packets_ = static_cast<uint64_t>(packets);
}

void DeviceChoice::to_gpu(uint64_t now) {
  wants_gpu_ = true;
  window_began_ = now;
  window_packets_ = windows_ = 0;
  batches_ = full_batches_ = 0;
}

void DeviceChoice::to_cpu() {
  wants_gpu_ = false;
  streak_ = 0;
}

void DeviceChoice::on_gpu(int packets, uint64_t now, bool late) {
  window_packets_ += static_cast<uint64_t>(packets);
  batches_ += packets > 0;
  full_batches_ += packets >= kFullBatch;
  const double window = seconds(now - window_began_);
  if (window < kWindowS) return;
  const double rate = static_cast<double>(window_packets_) / window;
  const bool waiting = 2 * full_batches_ > batches_;
  window_began_ = now;
  window_packets_ = 0;
  batches_ = full_batches_ = 0;
  // Few packets in the first windows: the streak was a burst, so the next must be longer.
  constexpr uint64_t kLasting = 10;
  if (++windows_ == kLasting) streak_wanted_ = kStreak;
  if ((waiting || late) && rate < cpu_rate_) {
    to_cpu();
    paused_until_ = now + static_cast<uint64_t>(pause_s_ * ticks_per_s_);
    pause_s_ = std::min(2 * pause_s_, kLongestPauseS);
  } else if (!waiting && rate < kBack * cpu_rate_) {
    if (windows_ < kLasting) streak_wanted_ = std::min(2 * streak_wanted_, kLongestStreak);
    to_cpu();
  } else if (waiting) {
    pause_s_ = kFirstPauseS;  // it does more than the CPU
  }
}

}  // namespace heddle
