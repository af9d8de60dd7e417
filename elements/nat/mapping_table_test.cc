// Mappings against a model, and lookups beside changes: a reader finds a mapping whole or not at all.

#include "elements/nat/mapping_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "tests/support/patience.h"

namespace heddle::nat {
namespace {

using Tuple = std::tuple<uint32_t, uint32_t, uint16_t, uint16_t, int>;
Tuple tuple_of(const FlowKey& key) {
  return {key.source, key.destination, key.source_port, key.destination_port, static_cast<int>(key.kind)};
}

FlowKey random_key(std::mt19937& random, uint32_t range) {
  return {static_cast<uint32_t>(random()) % range, static_cast<uint32_t>(random()) % range,
          static_cast<uint16_t>(random() % range), static_cast<uint16_t>(random() % range),
          static_cast<Kind>(random() % 3)};
}

TEST(MappingTable, IsWhatAModelIs) {
  std::mt19937 random(1);
  MappingTable table(200);
  std::map<Tuple, Tuple> model;  // both directions
  for (int step = 0; step < 20000; ++step) {
    const FlowKey flow = random_key(random, 6);
    FlowKey to = random_key(random, 6);
    to.kind = flow.kind;
    const auto outcome = table.create(flow, to, 3, 4, 0);
    if (model.contains(tuple_of(flow)))
      ASSERT_EQ(outcome, MappingTable::Outcome::made);
    else if (model.contains(tuple_of(to.reversed())))
      ASSERT_EQ(outcome, MappingTable::Outcome::taken);
    else if (table.size() == 200 && outcome == MappingTable::Outcome::full)
      ASSERT_EQ(model.size(), 400u);
    else if (tuple_of(flow) != tuple_of(to.reversed())) {
      ASSERT_EQ(outcome, MappingTable::Outcome::made);
      model[tuple_of(flow)] = tuple_of(to);
      model[tuple_of(to.reversed())] = tuple_of(flow.reversed());
    } else {
      table.clear();  // a flow that is its own reply: not of interest here
      model.clear();
    }
    const FlowKey key = random_key(random, 6);
    Rewrite found;
    ASSERT_EQ(table.find(key, found), model.contains(tuple_of(key)));
    if (model.contains(tuple_of(key))) {
      ASSERT_EQ(tuple_of(found.to), model[tuple_of(key)]);
    }
    if (step % 500 == 499) {  // half of them end
      table.expire(1, 100, [](const MappingTable::Idle&) { return true; });
      for (auto it = model.begin(); it != model.end();) {
        const auto [source, destination, sport, dport, kind] = it->first;
        it = table.find({source, destination, sport, dport, static_cast<Kind>(kind)}, found) ? std::next(it)
                                                                                             : model.erase(it);
      }
      ASSERT_EQ(model.size(), 2 * table.size());
    }
  }
}

TEST(MappingTable, TimesAreThoseOfTheLastPacket) {
  MappingTable table(10);
  const FlowKey flow{1, 2, 3, 4, Kind::tcp}, to{5, 2, 6, 4, Kind::tcp};
  ASSERT_EQ(table.create(flow, to, 0, 1, 100), MappingTable::Outcome::made);
  Rewrite found;
  ASSERT_TRUE(table.find(to.reversed(), found));
  EXPECT_TRUE(found.reply);
  EXPECT_EQ(found.output, 1);
  table.touch(found.mapping, 107, MappingTable::kReply);
  int64_t idle = 0;
  uint8_t seen = 0;
  const auto look = [&](const MappingTable::Idle& mapping) {
    idle = mapping.ms, seen = mapping.seen;
    return mapping.ms > 10;
  };
  table.expire(110, 10, look);
  EXPECT_EQ(idle, 3);
  EXPECT_EQ(seen, MappingTable::kReply);
  EXPECT_EQ(table.size(), 1u);
  table.expire(118, 10, look);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_FALSE(table.find(flow, found));
}

// Ports of a mapping say what its addresses are, so a reader that sees two halves knows.
TEST(MappingTable, ConcurrentReadersSeeWholeMappings) {
  MappingTable table(64);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> hits{0}, torn{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r)
    readers.emplace_back([&, r] {
      std::mt19937 random(static_cast<unsigned>(r));
      Rewrite found;
      while (!stop) {
        const auto n = static_cast<uint32_t>(random() % 40);
        if (!table.find({n, 7, static_cast<uint16_t>(n), 7, Kind::udp}, found)) continue;
        ++hits;
        torn += found.to.source - 1000 != found.to.source_port || found.to.destination != 7 || found.reply;
      }
    });
  std::mt19937 random(9);
  test::Patience patience;  // with readers that have no processor yet
  for (int step = 0; step < 30000 || (hits < 1000 && !patience.is_over(hits)); ++step) {
    const auto n = static_cast<uint32_t>(random() % 40), port = static_cast<uint32_t>(random() % 5000);
    table.create({n, 7, static_cast<uint16_t>(n), 7, Kind::udp},
                 {1000 + port, 7, static_cast<uint16_t>(port), 7, Kind::udp}, 0, 0, 0);
    if (step % 3 == 0) table.expire(0, 7, [](const MappingTable::Idle&) { return true; });
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_GE(hits, 1000u);
}

TEST(MappingTable, ThoseOfAnInputCanBeForgotten) {
  MappingTable table(5000);
  for (uint16_t n = 0; n < 4000; ++n)
    ASSERT_EQ(table.create({1, 2, n, 9, Kind::udp}, {3, 2, n, 9, Kind::udp}, 0, 1, 0, n % 3),
              MappingTable::Outcome::made);
  table.clear_input(0, 1);
  Rewrite found;
  for (uint16_t n = 0; n < 4000; ++n) ASSERT_EQ(table.find({1, 2, n, 9, Kind::udp}, found), n % 3 != 1) << n;
  EXPECT_EQ(table.size(), 4000u - 1333u);
}

TEST(MappingTable, ASmallerOneTakesWhatItHasRoomFor) {
  MappingTable table(100), small(10);
  for (uint16_t n = 0; n < 50; ++n) table.create({1, 2, n, 9, Kind::udp}, {3, 2, n, 9, Kind::udp}, 0, 1, 0);
  table.move_to(small);
  EXPECT_EQ(small.size(), 10u);
  EXPECT_EQ(table.create({1, 2, 60, 9, Kind::udp}, {3, 2, 60, 9, Kind::udp}, 0, 1, 0), MappingTable::Outcome::moved);
}

TEST(MappingTable, WhatPacketsHaveShownGoesAlong) {
  MappingTable table(10), next(20);
  const FlowKey early{1, 2, 3, 4, Kind::tcp}, late{1, 2, 5, 4, Kind::tcp};
  for (const FlowKey& flow : {early, late}) table.create(flow, flow, 0, 1, 100);
  Rewrite found;
  ASSERT_TRUE(table.find(early, found));
  table.touch(found.mapping, 105, MappingTable::kForwardEnd);
  table.add_shift(found.mapping, {6, 0, 1});
  table.add_shift(found.mapping, {7, 1, 2});
  table.move_to(next);
  ASSERT_TRUE(table.find(late, found));
  table.touch(found.mapping, 107, MappingTable::kReset);  // by a thread that still looks here
  table.add_shift(found.mapping, {8, 3, 4});
  table.hand_over(next);
  std::map<int64_t, uint8_t> seen;  // by idle time
  next.expire(110, 20, [&](const MappingTable::Idle& mapping) { return seen[mapping.ms] = mapping.seen, false; });
  EXPECT_EQ(seen, (std::map<int64_t, uint8_t>{{5, MappingTable::kForwardEnd}, {3, MappingTable::kReset}}));
  ASSERT_TRUE(next.find(early, found));
  EXPECT_EQ(next.shifts(found.mapping).newest.from, 7u);
  EXPECT_EQ(next.shifts(found.mapping).earlier.from, 6u);
  ASSERT_TRUE(next.find(late, found));
  EXPECT_EQ(next.shifts(found.mapping).newest.from, 8u);
}

TEST(MappingTable, OwnersKnowTheirOwn) {
  MappingTable table(100), next(100);
  const FlowKey flow{1, 2, 3, 4, Kind::udp}, to{5, 2, 6, 4, Kind::udp};
  const auto of = [](FlowKey key, uint8_t owner) { return key.owner = owner, key; };
  ASSERT_EQ(table.create(of(flow, 0), of(to, 0), 0, 1, 0, 7), MappingTable::Outcome::made);
  Rewrite found;
  EXPECT_FALSE(table.find(of(flow, 1), found));
  ASSERT_EQ(table.create(of(flow, 1), of(flow, 1), 2, 3, 0, 7), MappingTable::Outcome::made);
  ASSERT_TRUE(table.find(of(flow, 0), found));
  EXPECT_EQ(found.to, of(to, 0));
  ASSERT_TRUE(table.find(of(flow, 1), found));
  EXPECT_EQ(found.to, of(flow, 1));
  next.copy(table, 1, 9, 4);
  EXPECT_FALSE(next.find(of(flow, 1), found));
  ASSERT_TRUE(next.find(of(flow, 9), found));
  EXPECT_EQ(found.to, of(flow, 9));
  EXPECT_EQ(next.size(), 1u);
  table.clear_input(0, 7);
  EXPECT_EQ(table.size_of(0), 0u);
  EXPECT_EQ(table.size_of(1), 1u);
}

// UDP mappings may go after 10 and end after 100; TCP's after 20 and 50.
MappingTable::Limits limits_of(const MappingTable::Idle& mapping) {
  return mapping.kind == Kind::udp ? MappingTable::Limits{10, 100} : MappingTable::Limits{20, 50};
}
FlowKey flow_of(uint32_t n, Kind kind) { return {n, 7, static_cast<uint16_t>(n), 7, kind}; }

TEST(MappingTable, TheFirstToEndGoesForANewOne) {
  MappingTable table(3);
  const auto make = [&](uint32_t n, Kind kind, uint64_t now) {
    return table.create(flow_of(n, kind), flow_of(n, kind), 0, 1, now);
  };
  const auto has = [&](uint32_t n, Kind kind) {
    Rewrite found;
    return table.find(flow_of(n, kind), found);
  };
  make(1, Kind::udp, 1000), make(2, Kind::tcp, 1000);
  EXPECT_TRUE(table.give_up(1000, UINT64_MAX, limits_of));  // there is room
  EXPECT_EQ(table.size(), 2u);
  make(3, Kind::udp, 1002);
  EXPECT_EQ(make(4, Kind::udp, 1009), MappingTable::Outcome::full);
  EXPECT_FALSE(table.give_up(1009, UINT64_MAX, limits_of));
  EXPECT_TRUE(table.give_up(1015, UINT64_MAX, limits_of));  // TCP's, which ends first, is still guaranteed
  EXPECT_FALSE(has(1, Kind::udp));
  EXPECT_EQ(make(4, Kind::udp, 1015), MappingTable::Outcome::made);
  EXPECT_FALSE(table.give_up(1030, 1049, limits_of));  // none ends by then
  EXPECT_TRUE(table.give_up(1031, 1050, limits_of));
  EXPECT_FALSE(has(2, Kind::tcp));
  EXPECT_EQ(make(5, Kind::tcp, 1031), MappingTable::Outcome::made);
  Rewrite found;
  ASSERT_TRUE(table.find(flow_of(3, Kind::udp), found));
  table.touch(found.mapping, 1035, MappingTable::kForward);
  EXPECT_TRUE(table.give_up(1036, UINT64_MAX, limits_of));
  EXPECT_FALSE(has(4, Kind::udp));  // not the third, which has had a packet
  EXPECT_EQ(table.size(), 2u);
}

TEST(MappingTable, AllOfALargeOneGoButTheGuaranteed) {
  constexpr uint32_t kMany = 10000, kOld = 9000;
  constexpr uint64_t kNow = 2'000'000;
  const auto limits = [](const MappingTable::Idle&) { return MappingTable::Limits{1'000'000, 3'000'000}; };
  MappingTable table(kMany);
  for (uint32_t n = 0; n < kMany; ++n)  // every tenth is new
    table.create(flow_of(n, Kind::udp), flow_of(n, Kind::udp), 0, 1, n % 10 == 0 ? kNow : n % 7);
  uint32_t made = 0;
  for (uint64_t now = kNow; made < kOld && now < kNow + 2 * kMany; ++now) {
    if (!table.give_up(now, UINT64_MAX, limits)) continue;
    const FlowKey flow = flow_of(made++, Kind::tcp);
    ASSERT_EQ(table.create(flow, flow, 0, 1, now), MappingTable::Outcome::made);
  }
  EXPECT_EQ(made, kOld);
  for (uint64_t now = kNow + 2 * kMany; now < kNow + 2 * kMany + 9; ++now)
    EXPECT_FALSE(table.give_up(now, UINT64_MAX, limits));
  Rewrite found;
  for (uint32_t n = 0; n < kMany; ++n) ASSERT_EQ(table.find(flow_of(n, Kind::udp), found), n % 10 == 0) << n;
}

TEST(MappingTable, ThoseThatEndLastStay) {
  MappingTable table(5000);
  for (uint32_t n = 0; n < 4000; ++n)  // later ones have had their packet longer ago
    table.create(flow_of(n, Kind::udp), flow_of(n, Kind::udp), 0, 1, 5000 - n);
  table.shrink(1500, 5000, limits_of);
  EXPECT_EQ(table.size(), 1500u);
  Rewrite found;
  for (uint32_t n = 0; n < 4000; ++n) ASSERT_EQ(table.find(flow_of(n, Kind::udp), found), n < 1500) << n;
}

// Packets come while it is said which mappings end first, so that none of them is as it was.
TEST(MappingTable, ShrinksUnderLoadAndStaysSmall) {
  constexpr uint32_t kFlows = 4000, kMost = 1500;
  MappingTable table(5000);
  for (uint32_t n = 0; n < kFlows; ++n) table.create(flow_of(n, Kind::udp), flow_of(n, Kind::udp), 0, 1, 1);
  uint32_t looked_at = 0;
  table.shrink(kMost, 1, [&](const MappingTable::Idle& mapping) {
    table.touch(looked_at++, 2, MappingTable::kForward);
    return limits_of(mapping);
  });
  EXPECT_EQ(looked_at, kFlows);
  EXPECT_EQ(table.size(), kMost);
  const FlowKey other = flow_of(kFlows, Kind::udp);
  EXPECT_EQ(table.create(other, other, 0, 1, 2), MappingTable::Outcome::full);
  EXPECT_TRUE(table.give_up(100000, 200000, limits_of));
  EXPECT_EQ(table.create(other, other, 0, 1, 100000), MappingTable::Outcome::made);
  EXPECT_EQ(table.size(), kMost);
}

// Threads make mappings and end some while all of them move from table to table; none is lost or comes back.
TEST(MappingTable, ConcurrentChangesMoveAlong) {
  constexpr int kThreads = 2, kTables = 12, kEach = 8000;
  std::vector<std::unique_ptr<MappingTable>> tables;
  for (int i = 0; i <= kTables; ++i) tables.push_back(std::make_unique<MappingTable>(20000 + 1000 * i));
  std::atomic<MappingTable*> now{tables[0].get()};
  std::vector<std::vector<uint32_t>> made(kThreads);
  std::atomic<int> all_made{0};
  std::vector<uint64_t> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const auto id = static_cast<uint32_t>(t);
      const auto flow = [&](uint32_t n) { return FlowKey{id, 7, static_cast<uint16_t>(n), 7, Kind::udp}; };
      for (uint32_t n = 0; n < kEach; ++n) {
        for (;;) {
          const auto outcome =
              now.load()->create(flow(n), {1000 + id, 7, static_cast<uint16_t>(n), 7, Kind::udp}, 0, 1, 0);
          if (outcome == MappingTable::Outcome::made) break;
          if (outcome != MappingTable::Outcome::moved) ++wrong[id];
          std::this_thread::yield();
        }
        made[id].push_back(n);
        ++all_made;
        Rewrite found;
        if (!now.load()->find(flow(made[id][n / 2]), found) || found.to.source != 1000 + id) ++wrong[id];
      }
    });
  for (int i = 0; i < kTables; ++i) {
    tables[static_cast<size_t>(i)]->move_to(*tables[static_cast<size_t>(i) + 1]);
    now = tables[static_cast<size_t>(i) + 1].get();
    while (all_made < kThreads * kEach * (i + 1) / (kTables + 1)) std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(wrong[static_cast<size_t>(t)], 0u);
    for (const uint32_t n : made[static_cast<size_t>(t)]) {
      Rewrite found;
      ASSERT_TRUE(now.load()->find({static_cast<uint32_t>(t), 7, static_cast<uint16_t>(n), 7, Kind::udp}, found));
    }
  }
  EXPECT_EQ(now.load()->size(), made[0].size() + made[1].size());
}

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(MappingTable, TakesMemoryAsMappingsCome) {
  constexpr uint64_t kMiB = 1 << 20;
  const uint64_t before = resident_bytes();
  MappingTable table(1 << 23);  // 1 GiB
  EXPECT_LT(resident_bytes(), before + 16 * kMiB);
  const FlowKey flow{1, 2, 3, 4, Kind::tcp};
  EXPECT_EQ(table.create(flow, {5, 2, 6, 4, Kind::tcp}, 0, 1, 0), MappingTable::Outcome::made);
  Rewrite found;
  EXPECT_TRUE(table.find(flow, found));
  EXPECT_FALSE(table.find({}, found));  // as what is free
  EXPECT_LT(resident_bytes(), before + 32 * kMiB);
}

TEST(MappingTable, SaysHowMuchMemoryIsMissing) {
  const uint64_t there = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t capacity = there / 128 + 1;
  if (capacity > 1 << 28) GTEST_SKIP() << "this machine has memory for every table";
  try {
    const MappingTable table(static_cast<uint32_t>(capacity));
    ADD_FAILURE() << "it was made";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(format("and this machine has %zu MiB", size_t{there >> 20})),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace heddle::nat
