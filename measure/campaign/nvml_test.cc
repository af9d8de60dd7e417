#include "measure/campaign/nvml.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/support/patience.h"

namespace heddle::bench {
namespace {

// The build puts it beside this program.
std::string fake_library() { return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_nvml.so"; }

TEST(NvmlTest, AbsentLibraryAbsentValues) {
  EXPECT_EQ(Nvml::open("0000:01:00.0", "libthere_is_no_such_library.so"), nullptr);
  EXPECT_EQ(Nvml::open("0000:01:00.0", "libc.so.6"), nullptr);
}

TEST(NvmlTest, FactsAndPower) {
  if (!std::filesystem::exists(fake_library())) GTEST_SKIP() << fake_library() << " is not there";
  EXPECT_EQ(Nvml::open("0000:02:00.0", fake_library().c_str()), nullptr);
  const auto nvml = Nvml::open("0000:01:00.0", fake_library().c_str());
  ASSERT_NE(nvml, nullptr);
  const GpuFacts facts = nvml->facts();
  EXPECT_EQ(facts.model, "Fake GPU");
  EXPECT_EQ(facts.driver, "580.1");
  EXPECT_EQ(facts.clocks["gpu_sm_mhz"], 1980);
  EXPECT_EQ(facts.clocks["gpu_memory_mhz"], 2619);
  EXPECT_FALSE(facts.clocks.contains("gpu_sm_max_mhz"));  // the library lacks the function
  GpuMeter::Reading reading;
  // Until the thread that reads has had its turn, and this one has kept the processor between energy and time.
  for (test::Patience patience; !reading.utilisation || *reading.power_w > 255;) {
    GpuMeter meter(*nvml);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    reading = meter.stop();
    ASSERT_TRUE(reading.power_w);
    if (patience.is_over(0)) break;
  }
  EXPECT_NEAR(*reading.power_w, 250, 5);  // by the energy counter, not by the 200 W of the moment
  ASSERT_TRUE(reading.utilisation);
  EXPECT_DOUBLE_EQ(*reading.utilisation, 0.8);
}

}  // namespace
}  // namespace heddle::bench
