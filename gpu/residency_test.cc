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
  EXPECT_EQ(
      residency_problem({light, heavy}, kEach, 132),
      "2640 light slots, 1716 heavy slots do not fit on 132 multiprocessors at once: each would need 33 of 32 blocks, "
      "2304 of 2048 threads");
}

TEST(Residency, RegistersAndSharedMemoryCount) {
  EXPECT_EQ(residency_problem({{"slots", 133, 256, 256 * 200, 0}}, kEach, 132),
            "133 slots do not fit on 132 multiprocessors at once: each would need 102400 of 65536 registers");
  EXPECT_EQ(
      residency_problem({{"slots", 264, 32, 0, 120 << 10}}, kEach, 132),
      "264 slots do not fit on 132 multiprocessors at once: each would need 245760 of 233472 bytes of shared memory");
}

}  // namespace
}  // namespace heddle::gpu
