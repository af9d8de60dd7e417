#pragma once

#include <cstdint>

namespace heddle {

/** Whether a packet thread gives the packets of a source to the GPU or runs them itself, where the plan has prepared
 *  both (DEVICE auto): the CPU as long as it keeps up, for a packet is back sooner; then the GPU, if that does more.
 *
 *  Nothing is known beforehand. A source that gives full batches over and over has packets waiting: the CPU does not
 *  keep up, and the rate that it has reached meanwhile is the most it can do (without the slowest batch, which an
 *  interruption may have stretched: a rate too low would leave packets on a slower GPU for good). The GPU keeps what it
 *  got until packets arrive at less than kBack of that rate, or until it has packets waiting as well and does less than
 *  the CPU did; then it is tried again only after a while, which doubles each time. A source that gives less than
 *  kFullBatch at a time, such as an Unqueue with a smaller BURST, never shows that packets wait. Times are time stamp
 *  counters. */
class DeviceChoice {
 public:
  static constexpr int kFullBatch = 32;         ///< packets; more than wait while a batch is under way, if one keeps up
  static constexpr int kStreak = 8;             ///< full batches in a row that show that packets wait
  static constexpr int kLongestStreak = 1024;   ///< that it takes after changes which did not last
  static constexpr double kBack = 0.8;          ///< of the CPU's rate
  static constexpr double kWindowS = 1e-3;      ///< over which the rate is taken while the GPU works
  static constexpr double kFirstPauseS = 1e-2;  ///< before a GPU that was slower is tried again
  static constexpr double kLongestPauseS = 10;

  explicit DeviceChoice(double ticks_per_s) : ticks_per_s_(ticks_per_s), pause_s_(kFirstPauseS) {}

  /** What sources have given: `packets` of one batch, or none in a round. `late`: the GPU takes longer than a latency
   *  budget allows; then it has only what the CPU cannot keep up with. */
  void received(int packets, uint64_t now, bool late = false) {
    if (wants_gpu_)
      on_gpu(packets, now, late);
    else
      on_cpu(packets, now);
  }
  bool wants_gpu() const { return wants_gpu_; }
  /** Packets a second that the CPU has done when it did not keep up; 0: it always has. */
  double cpu_rate() const { return cpu_rate_; }

 private:
  void on_cpu(int packets, uint64_t now);
  void on_gpu(int packets, uint64_t now, bool late);
  void to_gpu(uint64_t now);
  void to_cpu();
  double seconds(uint64_t ticks) const { return static_cast<double>(ticks) / ticks_per_s_; }

  double ticks_per_s_;
  bool wants_gpu_ = false;
  double cpu_rate_ = 0;
  // On the CPU: the full batches of the streak, what of it is done, the slowest; and until when the GPU is not tried.
  int streak_ = 0, streak_wanted_ = kStreak;
  uint64_t batch_packets_ = 0, batch_began_ = 0;
  uint64_t done_packets_ = 0, done_ticks_ = 0, slowest_packets_ = 0, slowest_ticks_ = 0;
  uint64_t paused_until_ = 0;
  double pause_s_;
  // On the GPU: the window under way, and how many there have been.
  uint64_t window_began_ = 0, window_packets_ = 0, windows_ = 0;
  int batches_ = 0, full_batches_ = 0;
};

}  // namespace heddle
