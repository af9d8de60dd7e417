#include "functions/ipsec/replay_window.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "functions/ipsec/replay_rule.h"

namespace heddle::ipsec {
namespace {

/** What RFC 4303, 3.4.3 says, one number after the other. */
struct Model {
  uint64_t window, top = 0;
  std::set<uint64_t> come = {};
  bool mark(uint64_t number) {
    if (number == 0 || number + window <= top || !come.insert(number).second) return false;
    top = std::max(top, number);
    return true;
  }
};

constexpr uint32_t kWindows[] = {1, 2, 8, 31, 32, 33, 64, 65, 100, 128, 1000, 1024, 2048, 4095, 4096};

TEST(ReplayWindow, IsThatOfASimpleModel) {
  for (const uint32_t size : kWindows) {
    for (const uint64_t start : {uint64_t{0}, uint64_t{UINT32_MAX} - 3 * size, (uint64_t{7} << 37) - 2 * size}) {
      std::mt19937_64 random(size);
      ReplayWindow window;
      window.start(size, start);
      Model model{size, start};
      for (uint64_t n = start < 2 * size ? 0 : start - 2 * size; n <= start; ++n) model.come.insert(n);
      uint64_t at = start;
      for (int step = 0; step < 20000; ++step) {
        if (random() % 200 == 0) at += random() % (3 * size);  // many are lost
        at += random() % 2;
        const uint64_t back = random() % (2 * size + 40);
        const uint64_t number = random() % 3 == 0 ? at : at > back ? at - back : 0;
        const bool wanted = model.mark(number);
        ASSERT_TRUE(!wanted || window.could_come(number)) << size << " " << number;
        ASSERT_EQ(window.mark(number), wanted) << size << " " << number << " " << model.top;
      }
    }
  }
}

TEST(ReplayWindow, WithoutASizeAllGo) {
  ReplayWindow window;
  window.start(0, 100);
  EXPECT_FALSE(window.is_on());
  for (const uint64_t number : {5, 5, 1, 400, 1}) EXPECT_TRUE(window.could_come(number) && window.mark(number));
}

/** RFC 4303, A2.2, as it stands there. */
int64_t inferred(uint32_t th, uint32_t tl, uint32_t w, uint32_t seql) {
  const uint32_t bl = tl - w + 1;  // modulo 2^32
  int64_t seqh;
  if (tl >= w - 1)
    seqh = seql >= bl ? int64_t{th} : int64_t{th} + 1;
  else
    seqh = seql >= bl ? int64_t{th} - 1 : int64_t{th};
  return seqh * (int64_t{1} << 32) + seql;
}

TEST(ReplayWindow, InfersTheUpperHalf) {
  std::mt19937 random(1);
  for (const uint32_t size : kWindows)
    for (const uint32_t th : {0u, 1u, 5u, 0x7ffffffeu})
      for (const uint32_t tl : {0u, 1u, size - 1, size, size + 1, 0x80000000u, UINT32_MAX - 1, UINT32_MAX}) {
        ReplayWindow window;
        window.start(size, uint64_t{th} << 32 | tl);
        std::vector<uint32_t> lows = {0, 1, tl, tl + 1, tl - 1, tl - size, tl - size + 1, tl - size + 2, UINT32_MAX};
        for (int k = 0; k < 20; ++k) lows.push_back(static_cast<uint32_t>(random()));
        for (const uint32_t low : lows) {
          const int64_t wanted = inferred(th, tl, size, low);
          ASSERT_EQ(static_cast<int64_t>(window.extended(low)), wanted) << size << " " << th << " " << tl << " " << low;
          if (wanted <= 0) {
            EXPECT_FALSE(window.could_come(window.extended(low)));
          }
        }
      }
}

// Where windows are judged later: the same of a long window, with no number below 0.
TEST(ReplayWindow, NumbersAreNearTheHighest) {
  constexpr auto kBehind = static_cast<uint32_t>(kMaxBehind);
  std::mt19937 random(2);
  for (const uint32_t th : {0u, 1u, 5u, 0x7ffffffeu})
    for (const uint32_t tl : {0u, 1u, kBehind - 1, kBehind, kBehind + 1, 0x80000000u, UINT32_MAX - 1, UINT32_MAX}) {
      const uint64_t top = uint64_t{th} << 32 | tl;
      std::vector<uint32_t> lows = {0, 1, tl, tl + 1, tl - 1, tl - kBehind, tl - kBehind + 1, UINT32_MAX};
      for (int k = 0; k < 20; ++k) lows.push_back(static_cast<uint32_t>(random()));
      for (const uint32_t low : lows) {
        const int64_t wanted = inferred(th, tl, kBehind, low);
        ASSERT_EQ(number_near(top, low), wanted < 0 ? low : static_cast<uint64_t>(wanted))
            << th << " " << tl << " " << low;
      }
    }
}

TEST(ReplayWindow, TakesOldNumbersForOld) {
  for (const uint64_t top : {uint64_t{500}, uint64_t{UINT32_MAX} + 5, (uint64_t{9} << 32) - 1, uint64_t{1} << 40}) {
    ReplayWindow window;
    window.start(64, top);
    for (const int64_t by : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{-64}, int64_t{-400}, int64_t{INT32_MIN},
                             int64_t{INT32_MAX}, int64_t{70000}})
      EXPECT_EQ(window.could_come(top + static_cast<uint64_t>(by)), by > 0) << top << " " << by;
  }
}

// Over and back: what has come in one window has come in the other, and nothing else.
TEST(ReplayWindow, GoesOnWhereAnotherIs) {
  ReplayWindow first, second;
  first.start(64, 0), second.start(64, 0);
  for (const uint64_t number : {100, 98, 60}) EXPECT_TRUE(first.mark(number));
  second.take_over(first);
  for (const uint64_t number : {100, 98, 60, 36}) EXPECT_FALSE(second.mark(number)) << number;
  for (const uint64_t number : {99, 37}) EXPECT_TRUE(second.could_come(number)) << number;
  first.take_over(second);
  for (const uint64_t number : {100, 98, 60, 36}) EXPECT_FALSE(first.mark(number)) << number;
  for (const uint64_t number : {99, 37, 101}) EXPECT_TRUE(first.mark(number)) << number;
  for (const uint32_t size : {32, 1024}) {
    ReplayWindow other;
    other.start(size, 7);
    other.take_over(first);
    for (const uint64_t number : {101, 100, 97, 1}) EXPECT_FALSE(other.mark(number)) << size << " " << number;
    EXPECT_TRUE(other.mark(102)) << size;
  }
  ReplayWindow later, off;
  later.start(64, 500), off.start(0, 0);
  later.take_over(first);
  EXPECT_FALSE(later.mark(500));
  EXPECT_TRUE(later.mark(501));
  later.take_over(off);
  EXPECT_FALSE(later.mark(501));
}

// As on a GPU and back: another one, which has seen other numbers, judges as the first.
TEST(ReplayWindow, GoesOnFromItsWords) {
  for (const uint32_t size : kWindows) {
    std::mt19937_64 random(size);
    const uint64_t start = (uint64_t{3} << 33) - 2 * size;
    ReplayWindow first, second;
    first.start(size, start), second.start(size, start + 5);
    for (int i = 0; i < 300; ++i) first.mark(start + random() % (3 * size)), second.mark(start + random() % (3 * size));
    std::vector<uint64_t> words(first.words());
    ASSERT_EQ(words.size(), second.words());
    first.copy_to(words.data());
    second.set(words.data());
    EXPECT_EQ(second.top(), first.top());
    for (uint64_t number = start; number < start + 4 * size; ++number)
      ASSERT_EQ(second.mark(number), first.mark(number)) << size << " " << number;
  }
  ReplayWindow off;
  off.start(0, 7);
  EXPECT_EQ(off.words(), 0u);
}

TEST(ReplayWindow, ThreadsMarkANumberOnce) {
  constexpr int kThreads = 4, kNumbers = 30000;
  ReplayWindow window;
  window.start(4096, 0);
  std::vector<std::atomic<int>> marked(kNumbers + 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (uint64_t number = 1; number <= kNumbers; ++number)
        if (window.mark(number)) ++marked[number];
    });
  for (auto& thread : threads) thread.join();
  int all = 0;
  for (auto& times : marked) {
    ASSERT_LE(times.load(), 1);
    all += times.load();
  }
  EXPECT_EQ(all, kNumbers);  // who comes to a number first finds it in the window
}

}  // namespace
}  // namespace heddle::ipsec
