#include "core/clock.h"

#include <rte_cycles.h>
#include <rte_pause.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace heddle {
namespace {

std::atomic<int64_t> tick_ns{0};
std::atomic<int64_t> next_ns{INT64_MAX};  // the next time that somebody waits for, as far as said since the last jump

/** The sleepers there are. */
struct Sleepers {
  std::mutex mutex;
  std::vector<RouterClock::Sleeper*> list;
};
Sleepers& sleepers() {
  static Sleepers all;
  return all;
}

}  // namespace

double tsc_hz() {
  using Clock = std::chrono::steady_clock;
  struct Moment {
    Clock::time_point time;
    uint64_t ticks;
  };
  // Of several readings the one that took the shortest: between its two the thread was not away.
  const auto moment = [] {
    Moment best{};
    for (uint64_t i = 0, least = UINT64_MAX; i < 16; ++i) {
      const uint64_t before = rte_rdtsc();
      const auto time = Clock::now();
      const uint64_t took = rte_rdtsc() - before;
      if (took < least) best = {time, before + took / 2}, least = took;
    }
    return best;
  };
  static const double hz = [&] {
    const Moment begin = moment();
    while (Clock::now() < begin.time + std::chrono::milliseconds(5)) rte_pause();
    const Moment end = moment();
    return static_cast<double>(end.ticks - begin.ticks) / std::chrono::duration<double>(end.time - begin.time).count();
  }();
  return hz;
}

uint64_t RouterClock::wall_ns() {
  if (simulated()) return static_cast<uint64_t>(simulated_now().time_since_epoch().count());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

void RouterClock::simulate(std::chrono::nanoseconds start, std::chrono::nanoseconds tick) {
  tick_ns = tick.count();
  next_ns = INT64_MAX;
  simulated_ns_ = start.count();
}

RouterClock::time_point RouterClock::simulated_now() noexcept {
  const int64_t tick = tick_ns.load(std::memory_order_relaxed);
  return time_point(duration(tick == 0 ? simulated_ns_.load() : simulated_ns_.fetch_add(tick)));
}

void RouterClock::note(time_point deadline) {
  const int64_t ns = deadline.time_since_epoch().count();
  int64_t next = next_ns.load();
  while (ns < next && !next_ns.compare_exchange_weak(next, ns)) {
  }
}

void RouterClock::jump(uint64_t changes, bool exhausted) {
  Sleepers& all = sleepers();
  const std::lock_guard lock(all.mutex);
  if (awaited_ != 0 || changes != changes_) return;  // in this order, for go_on() has the other
  int64_t next = INT64_MAX;
  for (const Sleeper* sleeper : all.list) {
    if (exhausted && sleeper->until_exhausted_) return;
    next = std::min(next, sleeper->until_);
  }
  next = std::min(next, next_ns.exchange(INT64_MAX));
  if (next == INT64_MAX) return;
  int64_t now = simulated_ns_.load();
  while (now < next && !simulated_ns_.compare_exchange_weak(now, next)) {
  }
}

void RouterClock::go_on(uint32_t times) {
  changes_.fetch_add(1);
  awaited_.fetch_sub(times);
}

void RouterClock::Sleeper::sleep_until(time_point deadline) { set(deadline.time_since_epoch().count(), false); }
void RouterClock::Sleeper::sleep_until_exhausted() { set(INT64_MAX, true); }

void RouterClock::Sleeper::set(int64_t until, bool until_exhausted) {
  const std::lock_guard lock(sleepers().mutex);
  until_ = until, until_exhausted_ = until_exhausted;
  changes_.fetch_add(1);
}

RouterClock::Sleeper::Sleeper() {
  Sleepers& all = sleepers();
  const std::lock_guard lock(all.mutex);
  all.list.push_back(this);
}

RouterClock::Sleeper::~Sleeper() {
  Sleepers& all = sleepers();
  const std::lock_guard lock(all.mutex);
  std::erase(all.list, this);
}

}  // namespace heddle
