#include "gpu/residency.h"

#include <gtest/gtest.h>

namespace heddle::gpu {
namespace {

const Multiprocessor kEach{32, 2048, 65536, 228 << 10};  // of an H100

TEST(Residency, WhatFitsIsNoProblem) {
  EXPECT_EQ(residency_problem({}, kEach, 132), "");
  EXPECT_EQ(residency_problem({{"light", 256, 32, 64 * 32, 4096}, {"heavy", 132, 128, 96 * 128, 32 << 10}}, kEach, 132),
            "");
}

// Two kernels of which each fits alone, but not both: blocks of one would wait for ever.
TEST(Residency, KernelsShareEveryMultiprocessor) {
  const Residents light{"light slots", 132 * 20, 32, 1024, 1024}, heavy{"heavy slots", 132 * 13, 128, 1024, 1024};
  EXPECT_EQ(residency_problem({light}, kEach, 132), "");
  EXPECT_EQ(residency_problem({heavy}, kEach, 132), "");
  const std::string problem = residency_problem({light, heavy}, kEach, 132);
  EXPECT_TRUE(
      problem.starts_with("2640 light slots, 1716 heavy slots do not fit on 132 multiprocessors at once: there is "
                          "room for 1452 of 1716 heavy slots (each needs 128 threads"))
      << problem;
}

TEST(Residency, RegistersAndSharedMemoryCount) {
  const auto has = [](const std::string& problem, const char* words) {
    return problem.find(words) != std::string::npos ? "" : problem;
  };
  EXPECT_EQ(has(residency_problem({{"slots", 133, 256, 256 * 200, 0}}, kEach, 132), "room for 132 of 133 slots"), "");
  EXPECT_EQ(has(residency_problem({{"slots", 264, 32, 0, 120 << 10}}, kEach, 132), "room for 132 of 264 slots"), "");
}

// Large blocks that leave no room beside them are no problem where there are multiprocessors without one.
TEST(Residency, FewLargeBlocksHaveMultiprocessorsOfTheirOwn) {
  const Residents rings{"rings", 100, 512, 65536, 0}, patches{"patches", 1, 256, 4096, 0};
  EXPECT_EQ(residency_problem({rings, patches}, kEach, 132), "");
  EXPECT_NE(residency_problem({{"rings", 132, 512, 65536, 0}, patches}, kEach, 132), "");
}

}  // namespace
}  // namespace heddle::gpu
