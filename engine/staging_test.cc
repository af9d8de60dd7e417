#include "engine/staging.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "tests/support/frames.h"

namespace heddle {
namespace {

// Pieces in use never overlap, all lie inside, and all that is free can be taken in time.
TEST(Staging, PiecesInUseNeverOverlap) {
  auto random = test::random_for("staging");
  for (const size_t size : {64u, 640u, 4096u}) {
    alignas(Staging::kAlignment) static std::byte memory[4096];
    Staging staging(std::span<std::byte>(memory, size));
    struct Piece {
      size_t at, bytes;
      uint64_t until;
    };
    std::deque<Piece> used;
    size_t taken = 0;
    for (int step = 0; step < 20000; ++step) {
      const size_t bytes = 1 + random() % size;
      std::byte* piece = staging.take(bytes);
      if (piece == nullptr) {
        ASSERT_FALSE(used.empty()) << "nothing is in use, and " << bytes << " of " << size << " are not to be had";
        staging.give_back(used.front().until);
        used.pop_front();
        continue;
      }
      ++taken;
      const auto at = static_cast<size_t>(piece - memory);
      ASSERT_EQ(at % Staging::kAlignment, 0u);
      ASSERT_LE(at + bytes, size);
      for (const Piece& other : used) ASSERT_TRUE(at + bytes <= other.at || other.at + other.bytes <= at);
      used.push_back({at, bytes, staging.taken()});
    }
    EXPECT_GT(taken, 5000u);
  }
}

TEST(Staging, MoreThanThereIsIsRefused) {
  alignas(Staging::kAlignment) std::byte memory[128];
  Staging staging(memory);
  EXPECT_EQ(staging.take(129), nullptr);
  EXPECT_NE(staging.take(128), nullptr);
  EXPECT_EQ(staging.take(1), nullptr);
  staging.give_back(staging.taken());
  EXPECT_NE(staging.take(1), nullptr);
}

}  // namespace
}  // namespace heddle
