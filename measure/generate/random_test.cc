#include "measure/generate/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace heddle::bench {
namespace {

TEST(Random, IsTheSameEverywhere) {
  Random random(2014);
  uint64_t sum = 0;
  for (int i = 0; i < 1000; ++i) sum = sum * 31 + random.below(1000);
  EXPECT_EQ(sum, 3898881755152734494u);
  EXPECT_EQ(power(2, 0.5), 0x1.6a09e667f3bcep+0);
  EXPECT_EQ(power(1e6, -0.9), 0x1.0b2a4a8665482p-18);
}

TEST(Random, BelowIsUniform) {
  Random random(1);
  constexpr int kDraws = 700'000, kValues = 7;
  double count[kValues] = {};
  for (int i = 0; i < kDraws; ++i) ++count[random.below(kValues)];
  double chi_square = 0;
  for (const double seen : count) chi_square += (seen - kDraws / 7.0) * (seen - kDraws / 7.0) / (kDraws / 7.0);
  EXPECT_LT(chi_square, 22.5);  // 6 degrees of freedom: 1 in 1000
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
  // 3/4 of all numbers: a remainder would give the lower third twice as often.
  int lower = 0;
  for (int i = 0; i < 30'000; ++i) lower += random.below(uint64_t{3} << 62) < uint64_t{1} << 62;
  EXPECT_NEAR(lower, 10'000, 330);
}

TEST(Random, PowerIsThePower) {
  for (const double x : {1e-9, 0.3, 0.999, 1.0, 1.5, 2.0, 77.0, 1e9})
    for (const double y : {-3.0, -1.0, -0.01, 0.0, 0.5, 1.0, 2.5})
      EXPECT_NEAR(power(x, y) / std::pow(x, y), 1, 1e-12) << x << " " << y;
}

TEST(Random, DiscreteFollowsItsWeights) {
  Random random(3);
  const std::vector<double> weights = {1, 0, 3, 96, 0, 250, 0.5};
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const Discrete discrete(weights);
  constexpr int kDraws = 400'000;
  std::vector<double> count(weights.size());
  for (int i = 0; i < kDraws; ++i) ++count[discrete(random)];
  double chi_square = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double expected = kDraws * weights[i] / sum;
    if (weights[i] == 0)
      EXPECT_EQ(count[i], 0);
    else
      chi_square += (count[i] - expected) * (count[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 18.5);  // 4 degrees of freedom: 1 in 1000
  EXPECT_EQ(Discrete(std::vector<double>{5})(random), 0u);
}

TEST(Random, ZipfHasItsFirstRanks) {
  const auto weights = zipf_weights(1000, 1);
  EXPECT_NEAR(weights[0], 1, 1e-12);
  EXPECT_NEAR(weights[9], 0.1, 1e-12);
  EXPECT_NEAR(weights[999], 0.001, 1e-12);
}

TEST(Random, ShuffleKeepsEveryValue) {
  Random random(4);
  std::vector<int> values(100), sorted(100);
  std::iota(values.begin(), values.end(), 0);
  sorted = values;
  random.shuffle(values);
  EXPECT_NE(values, sorted);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, sorted);
}

}  // namespace
}  // namespace heddle::bench
