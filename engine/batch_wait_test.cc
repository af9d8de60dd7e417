#include "engine/batch_wait.h"

#include <gtest/gtest.h>

#include <deque>

namespace heddle {
namespace {

constexpr uint64_t kUs = 1000, kBudget = 200 * kUs;

/** Played time: packets come `period` apart, and a GPU takes `took` for each batch, one batch after the other. */
struct Played {
  double mean_batch = 0;
  int largest = 0;
  uint64_t longest = 0;  // from arrival until back

  Played(BatchWait wait, uint64_t period, uint64_t took, int packets = 20000) {
    struct Launched {
      int count;
      uint64_t done;
    };
    std::deque<Launched> launched;
    std::deque<uint64_t> arrivals;  // of packets that are not back
    uint64_t now = 0, next = 0, fed = 0, returned = 0, batches = 0;
    int waiting = 0;
    for (int come = 0; come < packets || !arrivals.empty();) {
      if (come < packets && next <= now) {
        if (waiting++ == 0) wait.begin(now);
        arrivals.push_back(now);
        ++come, next += period;
      }
      while (!launched.empty() && launched.front().done <= now) {
        returned += static_cast<uint64_t>(launched.front().count);
        for (int i = 0; i < launched.front().count; ++i, arrivals.pop_front())
          longest = std::max(longest, now - arrivals.front());
        launched.pop_front();
        wait.back(returned, now);
      }
      if (wait.is_over(waiting, static_cast<int>(fed - returned), now)) {
        fed += static_cast<uint64_t>(waiting), ++batches;
        largest = std::max(largest, waiting);
        const uint64_t free = launched.empty() ? now : std::max(now, launched.back().done);
        launched.push_back({waiting, free + took});
        wait.went(fed, now);
        waiting = 0;
      }
      now += kUs / 2;
    }
    mean_batch = static_cast<double>(packets) / static_cast<double>(batches);
  }
};

TEST(BatchWait, PacketsDoNotWaitWhereNothingIsUnderWay) {
  const Played slow(BatchWait(kBudget, 1024), 100 * kUs, 10 * kUs);
  EXPECT_EQ(slow.largest, 1);
  EXPECT_LE(slow.longest, 11 * kUs);
}

// What comes while a batch is under way is the next one: rate times duration.
TEST(BatchWait, BatchesFollowTheRate) {
  for (const uint64_t packets : {2u, 5u, 20u}) {
    const Played played(BatchWait(kBudget, 1024), 40 * kUs / packets, 40 * kUs);
    EXPECT_NEAR(played.mean_batch, static_cast<double>(packets), static_cast<double>(packets) / 2);
    EXPECT_LE(played.longest, 90 * kUs);
  }
}

TEST(BatchWait, EnoughDoNotWait) {
  const Played played(BatchWait(kBudget, 8), kUs, 4 * kUs);
  EXPECT_LE(played.largest, 8);
}

// The GPU takes most of the budget: there is that little time to wait.
TEST(BatchWait, TheWaitLeavesTimeForTheGpu) {
  BatchWait wait(kBudget, 1024);
  wait.begin(0);
  EXPECT_TRUE(wait.is_over(1, 0, 0));
  wait.went(1, 0);
  wait.back(1, 150 * kUs);
  wait.begin(200 * kUs);
  EXPECT_FALSE(wait.is_over(3, 1, 249 * kUs));
  EXPECT_TRUE(wait.is_over(3, 1, 250 * kUs));
  EXPECT_FALSE(wait.is_over(0, 0, 999 * kUs)) << "nobody waits";
  EXPECT_FALSE(wait.is_late());
}

TEST(BatchWait, AGpuThatIsLateIsKnownAtOnceAndForgivenLater) {
  BatchWait wait(kBudget, 1024);
  auto batch = [&, fed = uint64_t{0}, now = uint64_t{0}](uint64_t took) mutable {
    wait.went(++fed, now);
    wait.back(fed - 1, now + took);  // not this one
    wait.back(fed, now += took);
  };
  batch(100 * kUs);
  EXPECT_FALSE(wait.is_late());
  batch(300 * kUs);
  EXPECT_TRUE(wait.is_late());
  wait.begin(0);
  EXPECT_TRUE(wait.is_over(1, 5, 0)) << "there is nothing to wait for";
  batch(100 * kUs);
  EXPECT_TRUE(wait.is_late());
  for (int i = 0; i < 100; ++i) batch(100 * kUs);
  EXPECT_FALSE(wait.is_late());
}

TEST(BatchWait, WithoutABudgetNothingIsLate) {
  BatchWait wait;
  wait.went(1, 0);
  wait.back(1, 1000 * kUs);
  EXPECT_FALSE(wait.is_late());
  EXPECT_FALSE(wait.has_budget());
}

}  // namespace
}  // namespace heddle
