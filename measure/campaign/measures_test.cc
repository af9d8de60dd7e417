// What a repetition says of itself, with trials that are made up.

#include "measure/campaign/measures.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::bench {
namespace {

struct MadeUp : Target {
  Outcome outcome;
  Outcome run(const Trial&) override { return outcome; }
};

bool warns(const Outcome& outcome, const std::string& of) {
  MadeUp target;
  target.outcome = outcome;
  const Measurement made = measure(target, Setup(), kThroughput);
  return std::any_of(made.warnings.begin(), made.warnings.end(),
                     [&](auto& warning) { return warning.find(of) != std::string::npos; });
}

TEST(Measures, TheGeneratorIsTheBottleneckAtMaximumLoad) {
  Outcome outcome;
  outcome.seconds = 1, outcome.offered = 20'000'000, outcome.forwarded = outcome.offered - 65, outcome.lost = 65;
  outcome.core_share = 1;
  outcome.behind = 0.9, outcome.cpu_utilisation = 0.5;
  EXPECT_TRUE(warns(outcome, "bottleneck")) << "whatever a few packets did";
  outcome.cpu_utilisation = 0.99;
  EXPECT_FALSE(warns(outcome, "bottleneck")) << "the router had no time left";
  outcome.behind = 0.1, outcome.cpu_utilisation = 0.5;
  EXPECT_FALSE(warns(outcome, "bottleneck")) << "some queue was full all the time: one thread of several has the load";
  outcome.held_up = 0.5, outcome.cpu_utilisation = 1;
  EXPECT_TRUE(warns(outcome, "bottleneck")) << "it does not take what comes out";
  outcome.held_up = 0, outcome.behind = 0.9, outcome.core_share = 0.5, outcome.cpu_utilisation = 0.5;
  EXPECT_FALSE(warns(outcome, "bottleneck"));
  EXPECT_TRUE(warns(outcome, "other programs"));
}

TEST(Measures, CopiesAreCalledSo) {
  Outcome outcome;
  outcome.seconds = 1, outcome.offered = 1000, outcome.forwarded = 1001;
  EXPECT_FALSE(warns(outcome, "more packets came out"));
  outcome.forwarded = 2000, outcome.duplicated = 1000;
  EXPECT_TRUE(warns(outcome, "more packets came out"));
  outcome.unrecognised = 10, outcome.lost = 10;
  EXPECT_TRUE(warns(outcome, "more packets came out"));
  EXPECT_TRUE(warns(outcome, "not recognised"));
}

}  // namespace
}  // namespace heddle::bench
