#include "measure/campaign/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "measure/campaign/setup.h"

namespace heddle::bench {
namespace {

TEST(StatisticsTest, FewSamples) {
  const Summary one = summarise({3});
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.low, 3);
  EXPECT_EQ(one.high, 3);
  const Summary four = summarise({4, 1, 3, 10});
  EXPECT_EQ(four.median, 3.5);
  EXPECT_EQ(four.low, 1);
  EXPECT_EQ(four.high, 10);
  EXPECT_EQ(four.samples, (std::vector<double>{4, 1, 3, 10}));  // in the order of measurement
}

// The table of D. Altman et al., "Statistics with Confidence", for the ranks of a median's 95 % interval.
TEST(StatisticsTest, RanksOfTheInterval) {
  for (const auto& [n, rank] :
       {std::pair<size_t, size_t>{6, 1}, {8, 1}, {9, 2}, {10, 2}, {12, 3}, {15, 4}, {20, 6}, {30, 10}})
    EXPECT_EQ(outside_interval(n) + 1, rank) << n;
}

// Fewer than six samples give no interval of 95 %, and none says so.
TEST(StatisticsTest, ConfidenceOfTheInterval) {
  for (const auto& [n, expected] : {std::pair<size_t, double>{1, 0},
                                    {2, 0.5},
                                    {3, 0.75},
                                    {5, 0.9375},
                                    {6, 0.96875},
                                    {17, 0.95096}})  // of the same table
    EXPECT_NEAR(confidence(n), expected, 1e-5) << n;
  for (size_t n = 6; n < 200; ++n) EXPECT_GE(confidence(n), 0.95) << n;
  EXPECT_GE(confidence(static_cast<size_t>(bench::Setup{}.repetitions)), 0.95);  // by default
  EXPECT_EQ(interval_name(1), "single samples");
  EXPECT_EQ(interval_name(3), "range of 3, 75 %");
  EXPECT_EQ(interval_name(5), "range of 5, 93 %");
  EXPECT_EQ(interval_name(6), "96 % interval");
}

TEST(StatisticsTest, GapsAreNoSamples) {
  const double gap = std::nan("");
  const Summary summary = summarise({gap, 3, 1, gap, 2});
  EXPECT_EQ(summary.median, 2);
  EXPECT_EQ(summary.low, 1);
  EXPECT_EQ(summary.high, 3);
  EXPECT_EQ(summary.measured(), 3u);
  EXPECT_EQ(summary.samples.size(), 5u);
}

TEST(StatisticsTest, TheIntervalCoversTheMedian) {
  std::mt19937_64 random(7);
  std::exponential_distribution<> skewed(1);  // median: ln 2
  int covered = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> samples(15);
    for (double& sample : samples) sample = skewed(random);
    const Summary summary = summarise(samples);
    covered += summary.low <= 0.693147 && 0.693147 <= summary.high;
  }
  EXPECT_GE(covered, 1880);  // 94 %
  EXPECT_LT(covered, 1990);
}

TEST(StatisticsTest, PairedRatios) {
  EXPECT_EQ(paired_ratios({2, 9}, {1, 3}), (std::vector<double>{2, 3}));
  EXPECT_EQ(paired_ratios({2, 9, 4}, {1, 3}).size(), 2u);
}

}  // namespace
}  // namespace heddle::bench
