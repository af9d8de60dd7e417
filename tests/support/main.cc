#include <gtest/gtest.h>

#include <cstdio>

#include "gpu/device.h"
#include "tests/support/frames.h"
#include "tests/support/harness.h"

// EAL is never started here: chains run between elements in memory, so that the program needs no rights and no time.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::printf("seed %u (HEDDLE_TEST_SEED sets it)\n", heddle::test::seed());
  std::string reason;
  const auto devices = heddle::gpu::devices(reason);
  if (devices.empty())
    std::printf("GPU backends are not present: %s\n", reason.c_str());
  else
    std::printf("GPU backends run on %s (%s)\n", devices[0].name.c_str(), devices[0].model.c_str());
  return RUN_ALL_TESTS();
}
