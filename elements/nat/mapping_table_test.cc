// Mappings against a model, and lookups beside changes: a reader finds a mapping whole or not at all.

#include "elements/nat/mapping_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

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
  uint32_t idle = 0;
  uint8_t seen = 0;
  const auto look = [&](const MappingTable::Idle& mapping) {
    idle = mapping.seconds, seen = mapping.seen;
    return mapping.seconds > 10;
  };
  table.expire(110, 10, look);
  EXPECT_EQ(idle, 3u);
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
  table.clear_input(1);
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
  table.set_shift(found.mapping, {7, 1, 2});
  table.move_to(next);
  ASSERT_TRUE(table.find(late, found));
  table.touch(found.mapping, 107, MappingTable::kReset);  // by a thread that still looks here
  table.set_shift(found.mapping, {8, 3, 4});
  table.hand_over(next);
  std::map<uint32_t, uint8_t> seen;  // by idle seconds
  next.expire(110, 20, [&](const MappingTable::Idle& mapping) { return seen[mapping.seconds] = mapping.seen, false; });
  EXPECT_EQ(seen, (std::map<uint32_t, uint8_t>{{5, MappingTable::kForwardEnd}, {3, MappingTable::kReset}}));
  ASSERT_TRUE(next.find(early, found));
  EXPECT_EQ(next.shift(found.mapping).from, 7u);
  ASSERT_TRUE(next.find(late, found));
  EXPECT_EQ(next.shift(found.mapping).from, 8u);
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

}  // namespace
}  // namespace heddle::nat
