#include "gpu/residency.h"

#include <gtest/gtest.h>

namespace heddle::gpu {
namespace {

const Multiprocessor kEach{32, 2048, 65536, 228 << 10};  // of an H100
constexpr int kMultiprocessors = 132;

std::string problem_of(const std::vector<Residents>& all) { return residency_problem(all, kEach, kMultiprocessors); }

TEST(Residency, WhatFitsIsNoProblem) {
  EXPECT_EQ(problem_of({}), "");
  EXPECT_EQ(problem_of({{"light", 256, 32, 64 * 32, 4096}, {"heavy", 132, 128, 96 * 128, 32 << 10}}), "");
}

// Two kernels of which each fits alone, but not both: blocks of one would wait for ever.
TEST(Residency, KernelsShareEveryMultiprocessor) {
  const Residents light{"light slots", 132 * 20, 32, 1024, 1024}, heavy{"heavy slots", 132 * 13, 128, 1024, 1024};
  EXPECT_EQ(problem_of({light}), "");
  EXPECT_EQ(problem_of({heavy}), "");
  const std::string problem = problem_of({light, heavy});
  EXPECT_TRUE(
      problem.starts_with("2640 light slots, 1716 heavy slots do not fit on 132 multiprocessors at once: there is "
                          "room for 1452 of 1716 heavy slots (each needs 128 threads"))
      << problem;
}

TEST(Residency, RegistersAndSharedMemoryCount) {
  const auto has = [](const std::string& problem, const char* words) {
    return problem.find(words) != std::string::npos ? "" : problem;
  };
  EXPECT_EQ(has(problem_of({{"slots", 133, 256, 256 * 200, 0}}), "room for 132 of 133 slots"), "");
  EXPECT_EQ(has(problem_of({{"slots", 264, 32, 0, 120 << 10}}), "room for 132 of 264 slots"), "");
}

// Large blocks that leave no room beside them are no problem where there are multiprocessors without one.
TEST(Residency, FewLargeBlocksHaveMultiprocessorsOfTheirOwn) {
  const Residents rings{"rings", 100, 512, 65536, 0}, patches{"patches", 1, 256, 4096, 0};
  EXPECT_EQ(problem_of({rings, patches}), "");
  EXPECT_NE(problem_of({{"rings", 132, 512, 65536, 0}, patches}), "");
}

// Small blocks are spread over all multiprocessors: large ones that come after them find none empty.
TEST(Residency, WhatComesLaterNeedsRoomAsWell) {
  const Residents slots{"slots", 256, 32, 2048, 0}, rings{"rings", 16, 512, 65536, 0};
  EXPECT_EQ(problem_of({slots}), "");
  EXPECT_EQ(problem_of({rings}), "");
  EXPECT_NE(problem_of({rings, slots}), "");
  EXPECT_NE(problem_of({slots, rings}), "");
}

// Two ports' teams, of which either way alone would have all multiprocessors.
TEST(Residency, KernelsThatCanDoWithFewerBlocksMakeRoom) {
  const Residents teams{"teams", 464, 128, 16384, 1024, 4, 8}, engines{"engines", 64, 128, 14336, 1024};
  std::vector<Residents> both{teams, teams, engines};
  EXPECT_NE(problem_of(both), "");
  EXPECT_EQ(find_room(both, kEach, kMultiprocessors), "");
  EXPECT_EQ(both[0].blocks + both[1].blocks, 464);
  EXPECT_EQ(both[0].blocks, both[1].blocks);
  EXPECT_EQ(both[2].blocks, 64);
  std::vector<Residents> large{{"teams", 464, 128, 65536, 1024, 4, 300}};
  EXPECT_NE(find_room(large, kEach, kMultiprocessors), "");
}

TEST(Residency, KernelsAreAlikeIfTheirBlocksAre) {
  const Residents teams{"teams", 464, 128, 16384, 1024, 4, 8}, engines{"engines", 64, 128, 14336, 1024};
  EXPECT_TRUE(are_alike({}));
  EXPECT_TRUE(are_alike({teams}));
  EXPECT_TRUE(are_alike({teams, {"others", 8, 128, 16384, 1024}}));
  EXPECT_FALSE(are_alike({teams, {"others", 464, 128, 16384, 2048, 4, 8}}));
  EXPECT_FALSE(are_alike({teams, engines}));
}

TEST(Residency, EachStreamHasAQueueOfItsOwn) {
  EXPECT_EQ(queue_problem(32, 32), "");
  EXPECT_TRUE(queue_problem(33, 32).starts_with("33 streams are wanted beside kernels that stay, and there are 32 "));
}

}  // namespace
}  // namespace heddle::gpu
