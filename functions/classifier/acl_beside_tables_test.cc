// rte_acl beside hash tables, which have the changes until it is built anew: against a search of all rules.

#include "functions/classifier/acl_beside_tables.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "functions/classifier/engine_for_test.h"
#include "tests/support/frames.h"

namespace heddle::classifier {
namespace {

struct BesideTables : Subject {
  BesideTables() : Subject(EngineKind::tuple) {
    const RuleEngine::Limits limits{kNoMatch, size_t{1} << 30};
    auto acl = make_engine(EngineKind::acl, limits);
    acl->start();
    auto made = std::make_unique<AclBesideTables>(limits, std::move(acl), std::span<const SetRule>());
    both = made.get();
    engine = std::move(made);
  }
  void wait_for_acl() const {
    while (!both->by_acl()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  AclBesideTables* both;
};

TEST(AclBesideTables, FollowsChangesAndIsBuiltAnewAside) {
  auto random = test::random_for("acl beside tables");
  const auto pool = random_rules(random, 400);
  BesideTables subject;
  EXPECT_TRUE(subject.both->by_acl());
  for (const size_t count : {0u, 1u, 200u}) {
    subject.load({pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(count)}, 2);
    EXPECT_TRUE(subject.both->by_acl());
    subject.expect_right(keys_near(random, subject.rules(), 300));
    for (int round = 0; round < 12; ++round) {
      const auto number = static_cast<uint32_t>(random() % 400);
      if (const auto at = subject.wanted.lower_bound(number); round % 3 == 0 && at != subject.wanted.end())
        subject.change({{at->first, std::nullopt}});
      else
        subject.change({{number, pool[random() % pool.size()]}});
      if (round % 2 == 0) subject.reclaim();
      subject.expect_right(keys_near(random, subject.rules(), 100));
      if (round % 4 != 3) continue;
      subject.wait_for_acl();
      subject.expect_right(keys_near(random, subject.rules(), 300));
    }
  }
}

// A source that is no prefix.
TEST(AclBesideTables, LeavesWhatAclDoesNotTakeToTheTables) {
  auto random = test::random_for("acl beside tables, no prefix");
  const auto rules = random_rules(random, 50);
  Rule odd;
  odd.low[kSource] = 1, odd.high[kSource] = 6;
  BesideTables subject;
  subject.load(rules, 2);
  subject.change({{1, odd}});
  for (uint32_t round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // in which the thread tries
    EXPECT_FALSE(subject.both->by_acl());
    subject.expect_right(keys_near(random, subject.rules(), 200));
    subject.change({{100 + round, rules[round]}});
  }
  EXPECT_THROW(subject.set.load(std::vector<Rule>{odd}, 1, *subject.engine), Error);
  subject.expect_right(keys_near(random, subject.rules(), 200));
  subject.load(rules, 1);
  EXPECT_TRUE(subject.both->by_acl());
  subject.expect_right(keys_near(random, subject.rules(), 200));
}

// In each state all keys hit a rule with the state's number; the others make rte_acl take a while to build, in which
// further changes come. A reader never finds a state before one that it has found, or that was made before it began.
TEST(AclBesideTables, AnswersByOneStateOfTheSetWhileItChanges) {
  using Clock = std::chrono::steady_clock;
  constexpr uint32_t kStates = 40, kReaders = 2;
  auto random = test::random_for("acl beside tables, traffic");
  BesideTables subject;
  auto rules = random_rules(random, 150);
  rules[0] = Rule{};
  subject.load(rules, kStates + 1);
  const std::vector<Key> keys(5);
  std::atomic<uint32_t> begun{0}, made{0};
  std::atomic<uint64_t> wrong{0};
  std::atomic<bool> ended{false};
  std::vector<std::atomic<uint64_t>> calls(kReaders);
  std::vector<std::thread> readers;
  for (std::atomic<uint64_t>& mine : calls)
    readers.emplace_back([&] {
      uint32_t newest = 0;
      while (!ended) {
        newest = std::max(newest, made.load());
        const auto outcomes = subject.classify(keys, static_cast<int>(keys.size()));
        const uint32_t last = begun, found = outcomes[0].number;
        const bool right = newest <= found && found <= last &&
                           std::ranges::all_of(outcomes, [&](const Outcome& one) { return one.number == found; });
        wrong += right ? 0 : 1;
        newest = std::max(newest, std::min(found, last));
        ++mine;
      }
    });
  std::chrono::duration<double> until_acl{};  // after a change, if no other comes
  for (uint32_t state = 1; state <= kStates; ++state) {
    begun = state;
    subject.set.change(std::vector<RuleChange>{{state - 1, std::nullopt}, {state, Rule{}}}, *subject.engine);
    made = state;
    if (state % 8 != 1) {
      std::this_thread::sleep_for(until_acl * (static_cast<double>(random() % 100) / 80));
      continue;
    }
    const auto start = Clock::now();
    subject.wait_for_acl();
    until_acl = Clock::now() - start;
    wait_for_readers(calls);
    subject.reclaim();
  }
  subject.wait_for_acl();
  wait_for_readers(calls);
  ended = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace heddle::classifier
