// Packets of several ways go on by number; the packets here are only addresses.

#include "engine/reorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "tests/support/frames.h"

namespace heddle {
namespace {

Packet* packet(uint32_t number) { return reinterpret_cast<Packet*>(uintptr_t{number} * 64 + 64); }

void fill(Batch& batch, const std::vector<uint32_t>& numbers) {
  batch.resize(0);
  for (const uint32_t number : numbers) {
    const int i = batch.size();
    batch.packets()[i] = packet(number);
    batch.numbers()[i] = number;
    batch.column(Column::dst)[i] = ~number;
    batch.resize(i + 1);
  }
}

// Random ways and limits against sorting, with numbers that go round.
TEST(Reorder, GivesThePacketsByNumber) {
  auto random = test::random_for("reorder");
  for (int round = 0; round < 300; ++round) {
    const int ways = 1 + static_cast<int>(random() % 5), capacity = 1 + static_cast<int>(random() % 40);
    SpareBatches spare(capacity, 0);
    Reorder reorder(ways, columns(Column::dst), 64, 4000, spare);
    Batch batch(capacity), out(capacity);
    uint32_t next = round % 2 == 0 ? 0 : ~uint32_t{0} - 300;
    const uint32_t start = next;
    uint32_t released = start;
    std::deque<uint32_t> waiting;
    for (int step = 0; step < 60; ++step) {
      std::vector<std::vector<uint32_t>> by_way(static_cast<size_t>(ways));
      for (uint32_t i = random() % 30; i > 0; --i, ++next) {
        if (random() % 4 == 0) continue;  // dropped on its way
        auto& way = by_way[random() % by_way.size()];
        if (static_cast<int>(way.size()) == capacity) continue;
        way.push_back(next);
        waiting.push_back(next);
      }
      for (int w = ways; w-- > 0;) {
        fill(batch, by_way[static_cast<size_t>(w)]);
        reorder.add(w, batch);
        ASSERT_TRUE(batch.empty());
      }
      const uint32_t limit = step == 59 ? next : released + static_cast<uint32_t>(random()) % (next - released + 1);
      released = limit;
      for (;;) {
        out.resize(0);
        if (!reorder.release(limit, out)) break;
        for (int i = 0; i < out.size(); ++i) {
          ASSERT_FALSE(waiting.empty());
          ASSERT_EQ(out.numbers()[i] - start, waiting.front() - start);
          ASSERT_EQ(out.packet(i), packet(waiting.front()));
          ASSERT_EQ(out.column(Column::dst)[i], ~waiting.front());
          ASSERT_TRUE(earlier(waiting.front(), limit));
          waiting.pop_front();
        }
      }
      ASSERT_EQ(reorder.waiting(), static_cast<int>(waiting.size()));
      ASSERT_TRUE(waiting.empty() || !earlier(waiting.front(), limit));
    }
    EXPECT_TRUE(waiting.empty());
  }
}

TEST(Reorder, CopiesGoInTheOrderOfTheWays) {
  SpareBatches spare(8, 0);
  Reorder reorder(3, 0, 8, 64, spare);
  Batch batch(8), out(8);
  for (int way : {2, 0, 1}) {
    fill(batch, {5, 6});
    batch.packets()[0] = packet(static_cast<uint32_t>(way));
    reorder.add(way, batch);
  }
  ASSERT_TRUE(reorder.release(6, out));
  ASSERT_EQ(out.size(), 3);
  for (uint32_t way = 0; way < 3; ++way) EXPECT_EQ(out.packet(static_cast<int>(way)), packet(way));
}

TEST(Reorder, CountsThoseThatWaitOnce) {
  SpareBatches spare(4, 0);
  Reorder reorder(2, 0, 8, 64, spare);
  Batch batch(4), out(4);
  fill(batch, {1, 2, 3});
  reorder.add(0, batch);
  ASSERT_TRUE(reorder.release(2, out));
  EXPECT_EQ(reorder.count_new(), 2u);
  EXPECT_EQ(reorder.count_new(), 0u);
  fill(batch, {4, 5});
  reorder.add(0, batch);
  EXPECT_EQ(reorder.count_new(), 2u);
  EXPECT_EQ(reorder.waiting(), 4);
}

}  // namespace
}  // namespace heddle
