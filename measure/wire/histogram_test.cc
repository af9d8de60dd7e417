#include "measure/wire/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "tests/support/frames.h"

namespace heddle::bench {
namespace {

TEST(Histogram, BucketsAreNeverWiderThanAThousandthAndLeaveNothingOut) {
  uint64_t next = 0;
  for (size_t index = 0; next <= Histogram::kLargest; ++index) {
    const uint64_t highest = Histogram::highest_of(index);
    ASSERT_EQ(Histogram::index_of(next), index);
    ASSERT_EQ(Histogram::index_of(highest), index);
    ASSERT_LE(static_cast<double>(highest - next), static_cast<double>(next) / 1000);
    next = highest + 1;
  }
}

TEST(Histogram, PercentilesAreThoseOfTheSortedSamples) {
  auto random = test::random_for("histogram");
  for (const double spread : {0.1, 1.0, 3.0}) {
    std::lognormal_distribution<double> draw(8, spread);
    std::vector<uint64_t> samples;
    Histogram whole, halves[2];
    for (int i = 0; i < 20000; ++i) {
      samples.push_back(std::min(Histogram::kLargest, static_cast<uint64_t>(draw(random))));
      whole.record(samples.back());
      halves[i % 2].record(samples.back());
    }
    std::sort(samples.begin(), samples.end());
    halves[0].merge(halves[1]);
    EXPECT_EQ(whole.count(), samples.size());
    for (const size_t thousandths : {5, 1000, 10000, 50000, 90000, 99000, 99900, 99990, 100000}) {
      const size_t rank = thousandths * samples.size() / 100000;
      const double percent = static_cast<double>(thousandths) / 1000;
      const uint64_t wanted = samples[rank - 1], got = whole.percentile(percent);
      EXPECT_GE(got, wanted);
      EXPECT_LE(static_cast<double>(got), 1.001 * static_cast<double>(wanted)) << percent;
      EXPECT_EQ(halves[0].percentile(percent), got);
    }
    const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
    EXPECT_NEAR(whole.mean(), sum / 20000, 0.001 * sum / 20000);
    const auto at = std::lower_bound(samples.begin(), samples.end(), 1024);  // where a bucket begins
    EXPECT_EQ(whole.count_from(1024), static_cast<uint64_t>(samples.end() - at));
  }
}

TEST(Histogram, EmptyAndTooLarge) {
  Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(99), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
  histogram.record(UINT64_MAX);
  EXPECT_EQ(histogram.max(), Histogram::kLargest);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0u);
}

TEST(Histogram, TextIsHdrHistograms) {
  Histogram histogram;
  for (uint64_t i = 1; i <= 1000; ++i) histogram.record(i * 1000);
  std::istringstream text(histogram.percentile_text(1000));
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line, "       Value     Percentile TotalCount 1/(1-Percentile)");
  std::getline(text, line);
  EXPECT_EQ(line, "");
  std::getline(text, line);
  EXPECT_EQ(line, "       1.000 0.000000000000          1           1.00");
  std::getline(text, line);
  EXPECT_EQ(line, "     100.031 0.100000000000        100           1.11");
  double value = 0, share = 0, last = 0;
  uint64_t count = 0;
  int lines = 2;
  while (std::getline(text, line) && line[0] != '#') {
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf %lf %lu", &value, &share, &count), 3) << line;
    EXPECT_NEAR(value, static_cast<double>(count), 0.001 * value) << line;
    EXPECT_GE(static_cast<double>(count) / 1000, share - 1e-9) << line;
    EXPECT_GT(share, last);
    last = share;
    ++lines;
  }
  EXPECT_EQ(share, 1);
  EXPECT_EQ(count, 1000u);
  EXPECT_GT(lines, 40);  // five each time the rest halves, ten times
  EXPECT_TRUE(line.starts_with("#[Mean    =      500.5")) << line;
  std::getline(text, line);
  EXPECT_TRUE(line.ends_with("Total count    =         1000]")) << line;
}

}  // namespace
}  // namespace heddle::bench
