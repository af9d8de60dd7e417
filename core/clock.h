#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace heddle {

/** The time that a chain goes by, a clock as std::chrono has them: the machine's, or, once simulate() has been called,
 *  one that stands still while there is anything to do and then jumps to the next time that something waits for
 *  (Click's --simtime). What waits, ages, makes time stamps or measures rates in a chain asks this one; what waits for
 *  the machine itself, its peers or people does not. There is one in the program. Any thread, unless said otherwise. */
class RouterClock {
 public:
  using rep = int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<RouterClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    if (simulated()) [[unlikely]]
      return simulated_now();
    return time_point(std::chrono::steady_clock::now().time_since_epoch());
  }

  /** Whether `deadline` has come. If not, the caller waits for it and will ask again: a simulated clock stops there. */
  static bool reached(time_point deadline) {
    if (now() >= deadline) return true;
    wait_for(deadline);
    return false;
  }

  /** Nanoseconds since 1970. */
  static uint64_t wall_ns();

  static bool simulated() { return simulated_ns_.load(std::memory_order_relaxed) >= 0; }

  /** From now on time is simulated, begins at `start` and goes on by `tick` whenever it is asked for. Before anything
   *  else has asked for it. */
  static void simulate(std::chrono::nanoseconds start, std::chrono::nanoseconds tick);

  /** Somebody waits for `deadline`, and will say so again after a simulated clock has jumped. */
  static void wait_for(time_point deadline) {
    if (simulated()) [[unlikely]]
      note(deadline);
  }

  /** Seconds, a century at most, rounded up. */
  static duration seconds(double seconds) {
    return duration(static_cast<int64_t>(std::ceil(std::min(seconds, 4e9) * 1e9)));
  }

  /** Simulated: packet threads have nothing left to do, and had not when changes() was `changes`, so the clock goes on
   *  to the next time that somebody waits for. `exhausted`: nor will they have without help. Stays where it is if there
   *  is no such time, if others have done something since that packet threads may not have seen, or have yet to do what
   *  they are about to. */
  static void jump(uint64_t changes, bool exhausted);

  /** Counts what others than packet threads have done: handlers that they have called may have given those something to
   *  do. */
  static uint64_t changes() { return changes_.load(); }

  /** Somebody is about to do something: a simulated clock stands still until as many have said that it is done. */
  static void stand_still() { awaited_.fetch_add(1); }
  static void go_on(uint32_t times = 1);

  /** A thread beside the packet threads that waits for a time now and then, such as a script's. Time stands still from
   *  when it is due until it has said what it waits for next. */
  class Sleeper {
   public:
    Sleeper();
    ~Sleeper();
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    /** time_point::max(): for no time. */
    void sleep_until(time_point deadline);
    /** Is due when packet threads will have nothing to do any more. */
    void sleep_until_exhausted();

   private:
    friend class RouterClock;
    void set(int64_t until, bool until_exhausted);
    int64_t until_ = INT64_MAX;
    bool until_exhausted_ = false;
  };

 private:
  static time_point simulated_now() noexcept;
  static void note(time_point deadline);

  static inline std::atomic<int64_t> simulated_ns_{-1};  // negative: the machine's
  static inline std::atomic<uint64_t> changes_{0};
  static inline std::atomic<uint32_t> awaited_{0};
};

/** Ticks of this machine's time stamp counter in a second, with or without DPDK; the first call takes 5 ms to measure
 *  it. */
double tsc_hz();

/** Milliseconds of that clock. */
inline uint64_t now_ms() {
  const auto now = RouterClock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace heddle
