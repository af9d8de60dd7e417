// Mappings against a model, and lookups beside changes: a reader finds a mapping whole or not at all.

#include "elements/nat/mapping_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <tuple>
#include <vector>

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
  for (int step = 0; step < 30000 || (hits < 1000 && step < 3000000); ++step) {
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

}  // namespace
}  // namespace heddle::nat
