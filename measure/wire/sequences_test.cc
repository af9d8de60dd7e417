#include "measure/wire/sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "tests/support/frames.h"

namespace heddle::bench {
namespace {

/** RFC 4737's rule, with everything that ever arrived remembered. */
class Oracle {
 public:
  Sequences::Verdict see(uint64_t sequence) {
    if (!seen_.insert(sequence).second) return Sequences::kDuplicate;
    if (sequence < next_) return Sequences::kReordered;
    next_ = sequence + 1;
    return Sequences::kInOrder;
  }

 private:
  std::set<uint64_t> seen_;
  uint64_t next_ = 0;
};

/** Sequence numbers with gaps, copies and late ones, none later than `window`. */
std::vector<uint64_t> hostile_order(std::mt19937& random, uint64_t start, uint32_t window) {
  std::multimap<uint64_t, uint64_t> arrivals;  // when, which
  for (uint64_t i = 0; i < 5000; ++i) {
    const uint64_t jump = random() % 500 == 0 ? random() % (3 * window) : 0;
    for (uint64_t k = 0; k < jump; k += 1 + random() % 40)  // most of what is jumped over is lost, some is late
      arrivals.emplace(start + i + jump + random() % (window / 4),
                       start + i + jump - std::min<uint64_t>(k, window / 4));
    start += jump;
    if (random() % 10 == 0) continue;
    arrivals.emplace(start + i + (random() % 8 == 0 ? random() % (window / 2) : 0), start + i);
    if (random() % 10 == 0) arrivals.emplace(start + i + random() % (window / 2), start + i);
  }
  std::vector<uint64_t> order;
  for (auto& [when, sequence] : arrivals) order.push_back(sequence);
  return order;
}

TEST(Sequences, AgreeWithTheRuleWithinTheWindow) {
  auto random = test::random_for("sequences");
  for (const uint32_t flows : {1u, 7u, 300000u}) {
    for (int round = 0; round < 20; ++round) {
      const uint32_t flow = random() % flows;
      Sequences fresh(flows, false);
      Oracle oracle;
      for (const uint64_t sequence : hostile_order(random, 0, fresh.window()))
        ASSERT_EQ(fresh.see(flow, static_cast<uint32_t>(sequence)), oracle.see(sequence)) << sequence;
    }
  }
}

TEST(Sequences, WrapAround) {
  Sequences sequences(1, false);
  for (uint32_t quarter = 0; quarter < 4; ++quarter) sequences.see(0, quarter << 30);
  for (uint32_t i = 0xfffffff0; i != 16; ++i) {
    if (i == 7) continue;
    EXPECT_EQ(sequences.see(0, i), Sequences::kInOrder) << i;
  }
  EXPECT_EQ(sequences.see(0, 0xfffffff5), Sequences::kDuplicate);
  EXPECT_EQ(sequences.see(0, 15), Sequences::kDuplicate);
  EXPECT_EQ(sequences.see(0, 7), Sequences::kReordered);
  EXPECT_EQ(sequences.see(0, 0xffffffe0), Sequences::kReordered);
}

TEST(Sequences, OlderThanTheWindowIsReordered) {
  Sequences sequences(1, false);
  const uint32_t window = sequences.window();
  sequences.see(0, 5);
  sequences.see(0, 5 + window - 1);
  EXPECT_EQ(sequences.see(0, 5), Sequences::kDuplicate);
  sequences.see(0, 5 + window);
  EXPECT_EQ(sequences.see(0, 4), Sequences::kReordered);
}

TEST(Sequences, TwoThreadsCountEveryCopyOnce) {
  Sequences sequences(3, true);
  uint64_t found[2][3] = {};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread)
    threads.emplace_back([&, thread] {
      for (uint32_t i = 0; i < 30000; ++i) ++found[thread][sequences.see(i % 3, i / 3 % 60000)];
    });
  for (auto& thread : threads) thread.join();
  uint64_t different = 0, copies = 0;
  for (auto& counts : found) {
    different += counts[Sequences::kInOrder] + counts[Sequences::kReordered];
    copies += counts[Sequences::kDuplicate];
  }
  EXPECT_EQ(different, 30000u);
  EXPECT_EQ(copies, 30000u);
}

}  // namespace
}  // namespace heddle::bench
