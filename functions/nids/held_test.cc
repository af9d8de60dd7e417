// Segments that come before their turn: how many wait, and which of them counts where they overlap.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "functions/nids/streams.h"
#include "tests/support/frames.h"

namespace heddle::test {
namespace {

using nids::Streams;
using nids::Window;

/** One direction of a connection, whose byte 0 has come and whose byte 1 is missing. */
struct Waiting {
  static constexpr uint32_t kBegin = 0xfffffff0;  // sequence numbers go round
  Streams streams{1 << 20, 1};
  uint64_t name = 0;

  Waiting() { take(0, "-"); }
  /** What is new in order with `text` from the byte `at` on. */
  std::string take(uint32_t at, const std::string& text) {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    const Window window = streams.take(name, {kBegin + at, false, false, false, bytes});
    return {window.bytes.begin() + window.fresh, window.bytes.end()};
  }
  void end() {
    streams.end(name);
    EXPECT_EQ(streams.blocks_used(), 0u);
    EXPECT_EQ(streams.waiting(), 0u);
  }
};

std::string letters(std::mt19937& random, size_t count) {
  std::string text(count, '\0');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

TEST(HeldSegments, SmallOnesShareBlocks) {
  auto random = random_for("small held segments");
  constexpr uint32_t kCount = 5000;
  const std::string text = letters(random, kCount);
  for (const bool backwards : {false, true}) {
    Waiting waiting;
    for (uint32_t n = 0; n < kCount; ++n) {
      const uint32_t at = backwards ? kCount - 1 - n : n;
      ASSERT_EQ(waiting.take(2 + at, text.substr(at, 1)), "");
      ASSERT_EQ(waiting.take(2 + at, "?"), "");  // again
    }
    EXPECT_LE(waiting.streams.waiting(), 8u);  // a byte takes three there
    EXPECT_EQ(waiting.take(1, "+"), "+" + text);
    EXPECT_EQ(waiting.streams.gaps(), 0u);
    waiting.end();
    EXPECT_EQ(waiting.streams.unfollowed(), 0u);
  }
  // In disorder, and to the end: each is counted.
  std::vector<uint32_t> order(150);
  for (uint32_t n = 0; n < order.size(); ++n) order[n] = n;
  Waiting waiting, never;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (const uint32_t n : order) waiting.take(2 + n, text.substr(n, 1)), never.take(2 + n, text.substr(n, 1));
  EXPECT_EQ(waiting.streams.waiting(), 1u);
  EXPECT_EQ(waiting.take(1, "+"), "+" + text.substr(0, order.size()));
  waiting.end(), never.end();
  EXPECT_EQ(never.streams.unfollowed(), order.size());
}

/** The same, where each segment is kept by itself. */
struct Alone {
  std::multimap<uint32_t, std::string> waiting;  // by their first byte, and then as they came
  uint32_t next = 1;

  std::string take(uint32_t at, const std::string& text) {
    std::string fresh;
    const auto append = [&](uint32_t from, const std::string& bytes) {
      if (from > next || from + bytes.size() <= next) return;
      fresh += bytes.substr(next - from);
      next = from + static_cast<uint32_t>(bytes.size());
    };
    if (at > next) {
      waiting.emplace(at, text);
      return fresh;
    }
    append(at, text);
    while (!waiting.empty() && waiting.begin()->first <= next) {
      append(waiting.begin()->first, waiting.begin()->second);
      waiting.erase(waiting.begin());
    }
    return fresh;
  }
};

TEST(HeldSegments, WhatBeginsFirstCountsInSharedBlocks) {
  auto random = random_for("held segments that overlap");
  size_t shared = 0, parted = 0;
  for (int round = 0; round < tries(500, 50000); ++round) {
    Waiting waiting;
    Alone alone;
    const uint32_t bytes = 10 + static_cast<uint32_t>(random() % 150),
                   longest = 1 + static_cast<uint32_t>(random() % 12);
    uint32_t at = 2, before = 0;
    for (uint32_t n = 0; n < Streams::kMaxHeld; ++n) {
      const std::string text = letters(random, 1 + random() % longest);
      ASSERT_EQ(waiting.take(at, text), alone.take(at, text)) << "round " << round;
      parted += waiting.streams.waiting() > before + 1;
      shared += waiting.streams.waiting() <= before;
      before = waiting.streams.waiting();
      ASSERT_LE(before, n + 1);
      at = random() % 3 != 0 ? at + static_cast<uint32_t>(text.size()) : 2 + static_cast<uint32_t>(random() % bytes);
    }
    for (uint32_t missing = 1; !alone.waiting.empty(); missing = alone.next)
      ASSERT_EQ(waiting.take(missing, "+"), alone.take(missing, "+")) << "round " << round;
    ASSERT_EQ(waiting.streams.gaps(), 0u);
    ASSERT_EQ(waiting.streams.waiting(), 0u);
    waiting.end();
  }
  EXPECT_GT(shared, 500u);
  EXPECT_GT(parted, 100u);
}

}  // namespace
}  // namespace heddle::test
