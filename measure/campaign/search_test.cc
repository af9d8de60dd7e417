// The search of RFC 2544 on simulated routers, whose zero-loss throughput is known.

#include "measure/campaign/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/error.h"

namespace heddle::bench {
namespace {

/** Forwards up to `ceiling_pps`; what comes faster is lost. */
class SimulatedRouter : public Target {
 public:
  double ceiling_pps = 1e6;
  double generator_pps = 1e9;  ///< that the generator can send
  double glitch = 0;           ///< probability that a trial of a second loses packets at any rate
  double soft = 0;             ///< above ceiling_pps / (1 + soft) a trial loses packets by chance
  double worn = 1;             ///< share of the ceiling that is left after a loss, until it has rested
  double long_pps = 1e9;       ///< that it can keep up for ten seconds
  double base_loss = 0;        ///< share that is always lost
  double late = 0;             ///< probability that the generator is late in a trial, so that its bursts lose packets
  double held_up = 0;          ///< share of the packets that the generator is slow to take
  double stamps_pps = 1e9;     ///< that it can keep up with when packets carry stamps
  double changed = 0;          ///< share that comes out without being recognised
  int trials = 0, rests = 0;
  double sent_s = 0;
  std::mt19937_64 random{4};

  Outcome run(const Trial& trial) override {
    ++trials;
    sent_s += trial.seconds;
    Outcome outcome;
    outcome.held_up = held_up;
    outcome.seconds = trial.seconds;
    const double rate = trial.rate_pps == 0 ? generator_pps : std::min(trial.rate_pps, generator_pps);
    if (trial.rate_pps > generator_pps) outcome.behind = 1;
    outcome.offered = static_cast<uint64_t>(rate * trial.seconds);
    double ceiling = ceiling_pps * (tired_ ? worn : 1);
    if (trial.seconds >= 10) ceiling = std::min(ceiling, long_pps);
    if (chance() < soft_risk(rate)) ceiling = std::min(ceiling, rate * 0.999);
    double forwarded = std::min(rate, ceiling) * trial.seconds * (1 - base_loss);
    if (trial.stamps) forwarded = std::min(forwarded, stamps_pps * trial.seconds);
    if (chance() < late) outcome.behind = 0.05, forwarded = std::max(0.0, forwarded - 1000);
    if (chance() < glitch * trial.seconds) forwarded = std::max(0.0, forwarded - 1000);
    outcome.forwarded = std::min(outcome.offered, static_cast<uint64_t>(forwarded));
    outcome.lost = outcome.offered - outcome.forwarded;
    outcome.unrecognised = static_cast<uint64_t>(changed * static_cast<double>(outcome.forwarded));
    outcome.lost += outcome.unrecognised;
    if (outcome.lost > 0) tired_ = true;
    return outcome;
  }
  void rest() override { tired_ = false, ++rests; }

 private:
  double chance() { return std::uniform_real_distribution<>()(random); }
  double soft_risk(double rate) const {
    const double sure = ceiling_pps / (1 + soft);
    return soft == 0 || rate <= sure ? 0 : (rate - sure) / (ceiling_pps - sure);
  }
  bool tired_ = false;
};

SearchOptions starting_at(double rate_pps, double resolution = 0.01) {
  SearchOptions options;
  options.start_pps = rate_pps;
  options.resolution = resolution;
  return options;
}

// What was found is right if it passes, and the ceiling is no further away than the resolution.
void expect_found(const SearchResult& result, double ceiling_pps, double resolution) {
  EXPECT_LE(result.rate_pps, ceiling_pps * 1.000001);
  EXPECT_GE(result.rate_pps, ceiling_pps * (1 - resolution) * 0.999999);
}

TEST(SearchTest, FindsTheCeilingWhereverItStarts) {
  for (double ceiling : {37.0, 1e3, 123456.0, 14.88e6, 2.5e8})
    for (double start : {ceiling / 1000, ceiling * 0.3, ceiling, ceiling * 1.001, ceiling * 7, ceiling * 900})
      for (double resolution : {0.1, 0.01, 0.001}) {
        SCOPED_TRACE(testing::Message() << ceiling << " from " << start << " within " << resolution);
        SimulatedRouter router;
        router.ceiling_pps = ceiling;
        SearchOptions options = starting_at(start, resolution);
        options.trial_s = 1000 / ceiling + 1;  // some packets, whatever the rate
        options.final_s = options.trial_s;
        const SearchResult result = find_zero_loss(router, options);
        EXPECT_FALSE(result.generator_limited);
        EXPECT_GE(result.lossy_pps, ceiling * 0.999);
        // Rates are whole packets a trial.
        EXPECT_LE(result.rate_pps, ceiling * 1.001);
        EXPECT_GE(result.rate_pps, ceiling * (1 - resolution) * 0.998);
        EXPECT_EQ(result.trials, router.trials);
        EXPECT_LE(result.trials, 40);
      }
}

TEST(SearchTest, LossThreshold) {
  SimulatedRouter router;
  router.base_loss = 0.0005;
  EXPECT_LT(find_zero_loss(router, starting_at(1e6)).rate_pps, 3000);  // a trial of fewer packets loses none
  SearchOptions options = starting_at(1e6);
  options.loss = 0.001;
  const SearchResult result = find_zero_loss(router, options);
  EXPECT_GT(result.rate_pps, 0.989e6);
  EXPECT_LE(result.rate_pps, 1e6 * 1.0006);
}

TEST(SearchTest, NothingPasses) {
  SimulatedRouter router;
  router.ceiling_pps = 0;
  const SearchResult result = find_zero_loss(router, starting_at(1e6));
  EXPECT_EQ(result.rate_pps, 0);
  EXPECT_LE(router.trials, 15);
}

TEST(SearchTest, LossesThatNobodyKnows) {
  SimulatedRouter router;
  router.changed = 1;
  EXPECT_THROW(find_zero_loss(router, starting_at(1e6)), Error);
  EXPECT_EQ(router.trials, 1);
  router.changed = 0.5;
  EXPECT_THROW(find_zero_loss(router, starting_at(1e6)), Error);
}

TEST(SearchTest, TheGeneratorIsTheBottleneck) {
  SimulatedRouter router;
  router.ceiling_pps = 1e8;
  router.generator_pps = 5e6;
  for (double start : {1e6, 5e6, 9e6}) {
    const SearchResult result = find_zero_loss(router, starting_at(start));
    EXPECT_TRUE(result.generator_limited);
    expect_found(result, 5e6, 0.01);
    EXPECT_EQ(result.lossy_pps, 0);
  }
}

// A trial in which the generator was away for a while neither passes a rate that it could not send, nor ends the
// search.
TEST(SearchTest, TrialsOfALateGeneratorAreMadeAgain) {
  int right = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SimulatedRouter router;
    router.late = 0.15;
    router.random.seed(seed);
    const SearchResult result = find_zero_loss(router, starting_at(1.4e6));
    EXPECT_FALSE(result.generator_limited);
    right += result.rate_pps >= 0.99e6 && result.rate_pps <= 1e6;
    EXPECT_TRUE(result.late > 0 || result.rate_pps >= 0.99e6) << "too low, and nothing says so";
  }
  EXPECT_GE(right, 45);
}

TEST(SearchTest, LossesOfAGeneratorThatDoesNotTakePacketsAreTold) {
  SimulatedRouter router;
  EXPECT_EQ(find_zero_loss(router, starting_at(1.4e6)).late, 0);
  router.held_up = 0.5;
  EXPECT_GT(find_zero_loss(router, starting_at(1.4e6)).late, 0);
}

// The result's own trial kept to the threshold, whatever the search saw before.
TEST(SearchTest, TheTrialThatDecidesLosesNothing) {
  for (const double stamps_pps : {1e9, 0.7e6}) {
    SimulatedRouter router;
    router.stamps_pps = stamps_pps;
    const SearchResult result = find_zero_loss(router, starting_at(1.4e6));
    expect_found(result, std::min(1e6, stamps_pps), stamps_pps < 1e6 ? 0.1 : 0.01);
    EXPECT_EQ(result.decisive.lost, 0u);
    EXPECT_NEAR(result.decisive.offered_pps(), result.rate_pps, 1);
  }
}

TEST(SearchTest, TrialsWithChanceLossesAreMadeAgain) {
  int right = 0, wrong_without = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SimulatedRouter router;
    router.glitch = 0.1;
    router.random.seed(seed);
    SearchOptions options = starting_at(1.4e6);
    wrong_without += find_zero_loss(router, options).rate_pps < 0.99e6;
    options.retries = 3;
    const SearchResult result = find_zero_loss(router, options);
    right += result.rate_pps >= 0.99e6 && result.rate_pps <= 1e6;
  }
  EXPECT_GE(right, 49);
  EXPECT_GT(wrong_without, 5);  // so that the retries are what helps
}

// Where the loss sets in by and by, what is found lies between "never" and "always".
TEST(SearchTest, SoftCeiling) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SimulatedRouter router;
    router.soft = 0.05;
    router.random.seed(seed);
    const SearchResult result = find_zero_loss(router, starting_at(1.3e6));
    EXPECT_LE(result.rate_pps, 1e6);
    EXPECT_GE(result.rate_pps, 1e6 / 1.05 * 0.99);
  }
}

TEST(SearchTest, RestsAfterLosses) {
  SimulatedRouter router;
  router.worn = 0.7;  // hysteresis: an overload leaves it slower
  const SearchResult result = find_zero_loss(router, starting_at(3e6));
  expect_found(result, 1e6, 0.01);
  EXPECT_GT(router.rests, 3);
}

TEST(SearchTest, LongTrialsDecide) {
  SimulatedRouter router;
  router.long_pps = 0.8e6;  // what only a long trial shows
  SearchOptions options = starting_at(1e6);
  expect_found(find_zero_loss(router, options), 1e6, 0.01);
  options.final_s = 10;
  expect_found(find_zero_loss(router, options), 0.8e6, 0.01);
  SimulatedRouter steady;
  expect_found(find_zero_loss(steady, options), 1e6, 0.01);
  EXPECT_EQ(steady.sent_s, static_cast<double>(steady.trials - 1) + 10);  // one long trial is enough then
}

}  // namespace
}  // namespace heddle::bench
