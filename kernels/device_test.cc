#include "gpu/device.h"

#include <gtest/gtest.h>

namespace heddle::gpu {
namespace {

TEST(Device, NamesThatAreNoneSayWhatIsExpected) {
  for (const char* name : {"", "gp", "gpux", "gpu-1", "cuda"}) {
    try {
      open_device(name);
      ADD_FAILURE() << name;
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("expected cpu, gpu, gpu0"), std::string::npos) << error.what();
    }
  }
}

// A function that needs many registers, or spills them, slows down every chain: they share one kernel.
TEST(Device, KernelsUseFewRegistersAndDoNotSpill) {
  constexpr int kMaxRegisters = 96;
  std::string reason;
  if (devices(reason).empty()) GTEST_SKIP() << "no GPU: " << reason;
  const auto device = open_device("gpu");
  RecordProperty("registers", device->info().kernel_registers);
  EXPECT_LE(device->info().kernel_registers, kMaxRegisters);
  EXPECT_EQ(device->info().kernel_local_bytes, 0u);
}

}  // namespace
}  // namespace heddle::gpu
