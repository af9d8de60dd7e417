#include "functions/ipsec/associations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

namespace heddle::ipsec {
namespace {

/** Associations of these SPIs, numbers, with one key. */
AssociationList list_of(const std::vector<uint32_t>& spis) {
  AssociationList list(spis.size());
  for (size_t i = 0; i < spis.size(); ++i) list[i].sa.spi = swapped(spis[i]), list[i].sa.rounds = 10;
  return list;
}

// Key exchanges give SPIs one after the other, some by steps, some at random.
TEST(Associations, AreFoundInAFewSteps) {
  constexpr size_t kCount = 30000;
  std::mt19937 random(1);
  for (const uint32_t step : {1u, 2u, 256u, 4096u, 65536u, 0u}) {
    std::vector<uint32_t> spis(kCount);
    for (size_t i = 0; i < kCount; ++i)
      spis[i] = step == 0 ? static_cast<uint32_t>(random()) | 256 : 0x1000 + static_cast<uint32_t>(i) * step;
    std::sort(spis.begin(), spis.end());
    spis.erase(std::unique(spis.begin(), spis.end()), spis.end());
    Associations associations;
    associations.load(list_of(spis), 0);
    const Image& image = associations.image();
    uint64_t probes = 0;
    for (uint32_t i = 0; i < spis.size(); ++i) {
      ASSERT_EQ(associations.find(swapped(spis[i])), i);
      uint32_t at = image.slot_of(swapped(spis[i]));
      for (++probes; image.slots()[at].index != i; ++probes) at = (at + 1) & image.slot_mask;
    }
    EXPECT_LT(probes, (step <= 2 ? 3 : 8) * spis.size()) << "by " << step;
    EXPECT_EQ(associations.find(swapped(0x999)), Associations::kNone);
  }
}

TEST(Associations, AFewAreFound) {
  for (uint32_t count : {1u, 2u, 3u}) {
    std::vector<uint32_t> spis(count);
    std::iota(spis.begin(), spis.end(), 0xffffff00u);
    Associations associations;
    associations.load(list_of(spis), 0);
    for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(associations.find(swapped(spis[i])), i);
  }
}

// Over to another file's, and back: numbers, initialisation vectors, windows and lifetimes go with SPI and keys.
TEST(Associations, GoOnInOthers) {
  AssociationList list = list_of({0x1001, 0x1002, 0x1003, 0x1004});
  for (auto& sa : list) sa.window = 64, sa.limits.soft_packets = 3, sa.limits.hard_packets = 5;
  Associations first, second;
  first.load(list, 0);
  std::swap(list[0], list[3]);       // another order,
  list[1].sa.nonce = 1;              // another key,
  list[2].limits.hard_packets = 10;  // another limit
  second.load(list, 0);
  for (uint32_t i = 0; i < 4; ++i) {
    first.take_numbers(i, 7 + i);
    for (int packet = 0; packet < 5; ++packet) first.take_life(i, 100, {});
    EXPECT_FALSE(first.take_life(i, 100, {}));
    EXPECT_TRUE(first.window(i).mark(20 + i));
  }
  second.take_over(first);
  EXPECT_EQ(second.take_numbers(0, 1), 11u);
  EXPECT_EQ(second.take_numbers(1, 1), 1u);
  EXPECT_EQ(second.take_numbers(2, 1), 10u);
  EXPECT_EQ(second.take_numbers(3, 1), 8u);
  EXPECT_EQ(second[0].iv_base, first[3].iv_base);
  EXPECT_NE(second[1].iv_base, first[1].iv_base);
  EXPECT_FALSE(second.window(0).mark(23));
  EXPECT_TRUE(second.window(1).mark(21));
  EXPECT_FALSE(second.window(3).mark(20));
  EXPECT_FALSE(second.take_life(0, 1, {}));
  EXPECT_TRUE(second.take_life(1, 1, {}));
  for (int packet = 0; packet < 5; ++packet) EXPECT_TRUE(second.take_life(2, 1, {}));
  EXPECT_FALSE(second.take_life(2, 1, {}));
  first.take_over(second);
  EXPECT_GE(first.take_numbers(3, 1), 11u);
  EXPECT_EQ(first.take_numbers(1, 1), 9u);
  EXPECT_FALSE(first.window(3).mark(23));
  EXPECT_FALSE(first.window(1).mark(21));
  EXPECT_FALSE(first.take_life(3, 1, {}));
}

// Numbers and windows that a GPU keeps are asked for before they go over, and others are told then; not on the way
// back.
TEST(Associations, AGpuSaysWhereItIsAndAnotherBeginsThere) {
  AssociationList list = list_of({0x1001, 0x1002});
  for (auto& one : list) one.window = 64;
  Associations first, second;
  first.load(list, 0), second.load(list, 0);
  bool fails = true;
  int fetched = 0, loaded = 0;
  uint64_t begins_at = 0;
  first.kept_by({[&] {
                   if (fails) throw Error("it has failed");
                   ++fetched, first.count_to(1, 50), first.count_to(0, 0), first.window(1).mark(40);
                 },
                 [&] { ADD_FAILURE() << "it has begun long ago"; }});
  second.kept_by(
      {[&] { ADD_FAILURE() << "it has not come to run"; }, [&] { ++loaded, begins_at = second.next_number(1); }});
  EXPECT_THROW(second.take_over(first), Error);
  fails = false;
  for (int i = 1; i <= 2; ++i) {
    second.take_over(first);
    EXPECT_EQ(fetched, i);
    EXPECT_EQ(loaded, i);
    EXPECT_EQ(begins_at, 50u);
    EXPECT_EQ(second.next_number(0), 1u);
    EXPECT_FALSE(second.window(1).could_come(40));
    first.take_over(second);
    EXPECT_EQ(first.next_number(1), 50u);
    EXPECT_FALSE(first.window(1).could_come(40));
  }
}

TEST(Associations, EachLimitIsSaidOnce) {
  AssociationList list = list_of({0x1001, 0x1002});
  list[1].limits.soft_packets = 2, list[1].limits.hard_packets = 3;
  Associations first, second;
  first.load(list, 0), second.load(list, 0);
  const auto said = [](Associations& associations) {
    testing::internal::CaptureStderr();
    associations.announce("e");
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(first), "");
  for (int packet = 0; packet < 2; ++packet) first.take_life(1, 10, {});
  EXPECT_EQ(said(first),
            "e: association 0x00001002 has reached its soft limit with 2 packets, 20 bytes: it needs a successor\n");
  EXPECT_EQ(said(first), "");
  first.take_life(1, 10, {});
  second.take_over(first);
  const std::string hard =
      "e: association 0x00001002 has reached its hard limit with 3 packets, 30 bytes: its packets are dropped\n";
  EXPECT_EQ(said(second), hard);
  EXPECT_EQ(said(second) + said(first), "");
  EXPECT_FALSE(second.take_life(1, 10, {}));
  EXPECT_EQ(said(second), "");
}

std::string said(Associations& associations) {
  testing::internal::CaptureStderr();
  associations.announce("e");
  return testing::internal::GetCapturedStderr();
}

// Both have come since somebody looked.
TEST(Associations, ASoftLimitIsSaidBesideTheHardOne) {
  AssociationList list = list_of({0x1001, 0x1002});
  list[0].limits.soft_packets = 2, list[0].limits.hard_packets = 3;
  list[1].limits.hard_packets = 3;
  Associations all;
  all.load(list, 0);
  for (uint32_t place : {0u, 1u})
    for (int packet = 0; packet < 3; ++packet) EXPECT_TRUE(all.take_life(place, 10, {}));
  EXPECT_EQ(said(all),
            "e: association 0x00001001 has reached its soft limit with 3 packets, 30 bytes: it needs a successor\n"
            "e: association 0x00001001 has reached its hard limit with 3 packets, 30 bytes: its packets are dropped\n"
            "e: association 0x00001002 has reached its hard limit with 3 packets, 30 bytes: its packets are dropped\n");
  EXPECT_EQ(said(all), "");
}

TEST(Associations, TheEndOfNumbersIsSaidOnce) {
  AssociationList list = list_of({0x1001, 0x1002});
  list[0].sa.source = swapped(0x0a000001), list[0].sa.destination = swapped(0x0a000002);
  Associations first, second;
  first.load(list, 0), second.load(list, 0);
  const auto count_down = [](Associations& all, uint64_t number) { all.count_down(all.current(), 0, number); };
  count_down(first, UINT32_MAX - 1), count_down(first, UINT32_MAX);
  const std::string begin = "e: association 0x00001001 from 10.0.0.1 to 10.0.0.2 has ";
  EXPECT_EQ(said(first), begin + "few sequence numbers left: it needs a successor\n");
  count_down(first, UINT32_MAX);
  EXPECT_EQ(said(first), "");
  first.count_down(first.current(), 1, UINT32_MAX);
  EXPECT_NE(said(first), "");
  second.take_over(first);
  second.count_down(second.current(), 1, uint64_t{UINT32_MAX} + 1);
  EXPECT_NE(said(second).find("0x00001002"), std::string::npos);
  count_down(second, UINT32_MAX), count_down(second, uint64_t{UINT32_MAX} + 1);
  EXPECT_EQ(said(second), begin + "used all its sequence numbers: its packets are dropped\n");
  count_down(second, uint64_t{UINT32_MAX} + 2);
  EXPECT_EQ(said(second), "");
}

int64_t wall_s() { return static_cast<int64_t>(RouterClock::wall_ns() / 1000000000); }

// Nobody has sent a packet when they are reached.
TEST(Associations, LimitsInSecondsAreSaidWithoutPackets) {
  AssociationList list = list_of({0x1001, 0x1002, 0x1003});
  for (auto& sa : list) sa.limits.soft_seconds = 1000, sa.limits.hard_seconds = 1000000;
  list[0].added_s = wall_s() - 2000, list[1].added_s = wall_s() + 2000;
  list[2].limits.hard_use_seconds = 5000, list[2].first_packet_s = wall_s() - 6000;
  Associations associations;
  associations.load(list, 0);
  testing::internal::CaptureStderr();
  associations.announce("e");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("e: association 0x00001001 has reached its soft limit with 0 packets, 0 bytes, 200"), said.npos);
  EXPECT_NE(said.find("e: association 0x00001003 has reached its hard limit with 0 packets, 0 bytes, 0 seconds: its "),
            said.npos);
  EXPECT_EQ(std::ranges::count(said, '\n'), 2) << said;
  EXPECT_NE(associations.lifetimes().find("0 0x00001001 0 0 soft 200"), std::string::npos);
  EXPECT_NE(associations.lifetimes().find("1 0x00001002 0 0 fresh 0 -\n"), std::string::npos);
  EXPECT_TRUE(associations.take_life(0, 1, associations.now()));
  EXPECT_FALSE(associations.take_life(2, 1, associations.now()));
}

// A new configuration's file, without times, is read later.
TEST(Associations, SecondsGoOnInOthers) {
  AssociationList list = list_of({0x1001, 0x1002});
  for (auto& sa : list) sa.limits.hard_seconds = 1000;
  list[1].sa.nonce = 1;
  list[0].added_s = list[1].added_s = wall_s() - 2000;
  Associations first, second, again;
  first.load(list, 0);
  list[0].added_s = list[1].added_s = 0, list[1].sa.nonce = 2;
  second.load(list, 0), again.load(list, 0);
  EXPECT_TRUE(again.take_life(0, 1, again.now()));
  second.take_over(first);
  EXPECT_FALSE(second.take_life(0, 1, second.now()));
  EXPECT_TRUE(second.take_life(1, 1, second.now()));
  first.take_over(second);
  EXPECT_FALSE(first.take_life(0, 1, first.now()));
}

TEST(Lifetime, SecondsCountFromWhenItWasAddedAndFromItsFirstPacket) {
  using namespace std::chrono_literals;
  const Lifetime::Time start{1000s};
  const auto at = [&](auto after) { return start + after; };
  LifetimeNews news;
  Limits limits;
  limits.soft_seconds = 50, limits.hard_seconds = 60, limits.soft_use_seconds = 5, limits.hard_use_seconds = 10;
  Lifetime used(limits, {.added = start}, news), unused(limits, {.added = start}, news);
  EXPECT_FALSE(news.is_due(at(50s - 1ns)));
  EXPECT_TRUE(used.take(1, at(20s)));
  EXPECT_TRUE(used.take(1, at(25s - 1ns)));
  EXPECT_EQ(used.state(), Lifetime::State::fresh);
  EXPECT_FALSE(news.is_due(at(25s - 1ns)));
  EXPECT_TRUE(news.is_due(at(25s)));
  EXPECT_FALSE(news.is_due(at(100s)));
  used.age(at(25s)), used.expect_end(), unused.expect_end();
  EXPECT_EQ(used.state(), Lifetime::State::soft);
  EXPECT_EQ(news.count(), 1u);
  EXPECT_TRUE(used.take(1, at(30s - 1ns)));
  EXPECT_FALSE(news.is_due(at(30s - 1ns)));
  EXPECT_TRUE(news.is_due(at(30s)));
  EXPECT_FALSE(used.take(1, at(30s)));
  EXPECT_FALSE(used.take(1, at(29s)));  // a batch that began before
  EXPECT_EQ(used.packets(), 3u);
  EXPECT_EQ(used.seconds(at(30s)), 30u);
  EXPECT_EQ(used.use_seconds(at(30s)), 10u);
  unused.age(at(50s - 1ns));
  EXPECT_EQ(unused.state(), Lifetime::State::fresh);
  unused.age(at(60s));
  EXPECT_EQ(unused.state(), Lifetime::State::hard);
  limits = {}, limits.hard_seconds = ~uint64_t{1};  // as good as never
  Lifetime endless(limits, {.added = at(1s)}, news);
  EXPECT_TRUE(endless.take(1, at(1000000000s)));
}

TEST(Associations, OneSelectorOfTwoIsFound) {
  const auto prefix = [](uint32_t address, int length) {
    return Prefix{mapped(address), static_cast<uint8_t>(96 + length)};
  };
  AssociationList list = list_of({0x1001, 0x1002, 0x1003, 0x1004});
  const auto found = [&] {
    Associations associations;
    associations.load(list, 0);
    return associations.with_one_selector();
  };
  const std::pair none(Associations::kNone, Associations::kNone);
  EXPECT_EQ(found(), std::pair(0u, 1u));
  for (uint32_t i = 0; i < 4; ++i)
    list[i].selector = {prefix(0, 0), prefix(0x0a000000 + (i << 8), 24), Selector::Family::ip4};
  EXPECT_EQ(found(), none);
  list[2].selector.destination = prefix(0x0a0001ff, 24);  // 10.0.1.0/24
  EXPECT_EQ(found(), std::pair(1u, 2u));
  list[2].selector.source = prefix(0x0b000000, 8);
  EXPECT_EQ(found(), none);
}

}  // namespace
}  // namespace heddle::ipsec
