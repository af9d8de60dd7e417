#include "kernels/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/frames.h"

namespace heddle::gpu {
namespace {

struct Point {
  double megabytes, rate;
};

// Between the points on a straight line over the logarithm. Beyond the last, which is all that the slots hold, nobody
// waits.
double rate_at(const std::vector<Point>& curve, double megabytes) {
  if (megabytes <= curve.front().megabytes) return curve.front().rate * megabytes / curve.front().megabytes;
  for (size_t i = 1; i < curve.size(); ++i)
    if (const Point& a = curve[i - 1], &b = curve[i]; megabytes <= b.megabytes)
      return a.rate + (b.rate - a.rate) * std::log(megabytes / a.megabytes) / std::log(b.megabytes / a.megabytes);
  return curve.back().rate;
}

// The average rate that the search has once it has had time to find the limit, and the best there is.
struct Found {
  double average, best;
};
Found search(const std::vector<Point>& curve, uint64_t first, double noise) {
  constexpr int kIntervals = 1000, kSettled = 100;
  auto random = test::random_for("gate");
  LimitSearch search;
  search.limit = first;
  uint64_t now = 0;
  double sum = 0;
  for (int i = 0; i < kIntervals; ++i) {
    const double rate = rate_at(curve, static_cast<double>(search.limit) / (1 << 20)) *
                        (1 + noise * (static_cast<double>(random() % 2001) / 1000 - 1));
    if (i >= kSettled) sum += rate;
    now += static_cast<uint64_t>(5e8 / rate);
    search.end_interval(now, static_cast<double>(search.limit) < curve.back().megabytes * (1 << 20));
  }
  const auto better = [](const Point& a, const Point& b) { return a.rate < b.rate; };
  return {sum / (kIntervals - kSettled), std::max_element(curve.begin(), curve.end(), better)->rate};
}

// As measured on an H100, XOR of 512 and 1460 bytes.
const std::vector<Point> kCurves[] = {{{.75, 233}, {1.1, 264}, {1.5, 290}, {2, 302}, {3, 262}, {4.2, 252}},
                                      {{.75, 134}, {1.1, 167}, {1.5, 196}, {2, 222}, {3, 258}, {12, 228}}};

TEST(LimitSearch, FindsTheBestLimitFromEverywhere) {
  for (const auto& curve : kCurves)
    for (const uint64_t first : {LimitSearch::kMin, LimitSearch{}.limit, LimitSearch::kMax}) {
      const Found found = search(curve, first, 0.01);
      EXPECT_GT(found.average, 0.95 * found.best) << "from " << first;
    }
}

TEST(LimitSearch, StaysWithinItsBoundsWhateverIsMeasured) {
  auto random = test::random_for("gate, any times");
  LimitSearch search;
  uint64_t now = 0;
  for (int i = 0; i < 10000; ++i) {
    search.end_interval(now += random() % 1000, true);
    ASSERT_GE(search.limit, LimitSearch::kMin);
    ASSERT_LE(search.limit, LimitSearch::kMax);
  }
}

TEST(LimitSearch, AFixedLimitStays) {
  LimitSearch search;
  search.fixed = true;
  for (uint64_t now = 0; now < 100; now += 1 + now % 7) search.end_interval(now, now % 2 == 0);
  EXPECT_EQ(search.limit, LimitSearch{}.limit);
}

}  // namespace
}  // namespace heddle::gpu
