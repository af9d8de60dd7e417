#include "core/clock.h"

#include <gtest/gtest.h>
#include <rte_cycles.h>
#include <rte_pause.h>

namespace heddle {
namespace {

TEST(Clock, TicksGoByAsTimeDoes) {
  using Clock = std::chrono::steady_clock;
  const double hz = tsc_hz();
  const auto before_first = Clock::now();
  const uint64_t first = rte_rdtsc();
  const auto after_first = Clock::now();
  while (Clock::now() < after_first + std::chrono::milliseconds(20)) rte_pause();
  const auto before_last = Clock::now();
  const uint64_t last = rte_rdtsc();
  const auto after_last = Clock::now();
  const auto seconds = [](auto duration) { return std::chrono::duration<double>(duration).count(); };
  const double elapsed = static_cast<double>(last - first) / hz;
  EXPECT_GE(elapsed, seconds(before_last - after_first) * 0.99);
  EXPECT_LE(elapsed, seconds(after_last - before_first) * 1.01);
}

}  // namespace
}  // namespace heddle
