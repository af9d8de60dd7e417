#include "measure/wire/pace.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::bench {
namespace {

// The times of packets that are due before `end`, in ticks.
std::vector<double> times(Pace pace, double end) {
  std::vector<double> list;
  for (double due; (due = static_cast<double>(pace.due()) / (1 << Pace::kFraction)) < end; pace.pass())
    list.push_back(due);
  return list;
}

TEST(Pace, PacketsOfAConstantRateAreEquallyFarApart) {
  EXPECT_EQ(times(Pace(2.5, 1, 10), 10), (std::vector<double>{0, 2.5, 5, 7.5}));
}

TEST(Pace, EveryOtherPeriodIsSlow) {
  EXPECT_EQ(times(Pace(2, 0.5, 8), 32), (std::vector<double>{0, 2, 4, 6, 8, 12, 16, 18, 20, 22, 24, 28}));
}

// What is due half a fast step into a slow period is due half a slow step into it.
TEST(Pace, AStepGoesOnAtTheNewRate) {
  EXPECT_EQ(times(Pace(2, 0.25, 5), 20), (std::vector<double>{0, 2, 4, 9, 11.75, 13.75, 18}));
  const auto with_pauses = times(Pace(1, 0, 3.25), 13);
  ASSERT_EQ(with_pauses.size(), 7u);  // as many as in two fast periods
  EXPECT_NEAR(with_pauses[4], 7.25, 1e-3);
}

TEST(Pace, SkippingCountsWhatPassingWould) {
  for (const double low : {1.0, 0.3, 0.0})
    for (const double time : {0.0, 0.5, 7.0, 29.9, 30.0, 1000.1}) {
      Pace pace(1.7, low, 10);
      const auto to = static_cast<uint64_t>(time * (1 << Pace::kFraction));
      EXPECT_EQ(pace.skip_to(to), times(Pace(1.7, low, 10), time).size()) << low << ", " << time;
      EXPECT_GE(pace.due(), to);
    }
}

TEST(Pace, TheLowestRateNeverOverflows) {
  Pace pace(1e300, 0.5, 1e300);
  pace.pass();
  EXPECT_GT(pace.due(), uint64_t{1} << 61);
}

}  // namespace
}  // namespace heddle::bench
