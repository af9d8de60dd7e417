// When packets go to the GPU: loads are played, time is a number.

#include "engine/device_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace heddle::test {
namespace {

constexpr double kTicks = 1e9;  // a second

/** A packet thread with a ring before it, which the sides empty at rates of their own. */
struct Thread {
  DeviceChoice choice{kTicks};
  double cpu_rate, gpu_rate;  ///< most that they do, packets a second
  double now = 0, waiting = 0, lost = 0;
  uint64_t taken = 0, on_gpu = 0, changes = 0;
  double ring = 4096;
  bool late = false;  ///< the GPU takes longer than the latency budget

  Thread(double cpu, double gpu) : cpu_rate(cpu), gpu_rate(gpu) {}

  /** Packets arrive at `rate` for `seconds`. */
  void run(double rate, double seconds) {
    constexpr double kRoundS = 100e-9;
    for (const double end = now + seconds; now < end;) {
      const bool gpu = choice.wants_gpu();
      const int batch = static_cast<int>(std::min(std::floor(waiting), 64.0));
      waiting -= batch;
      choice.received(batch, static_cast<uint64_t>(now * kTicks), late);
      changes += choice.wants_gpu() != gpu;
      taken += static_cast<uint64_t>(batch);
      on_gpu += choice.wants_gpu() ? static_cast<uint64_t>(batch) : 0;
      const double passed = kRoundS + batch / (choice.wants_gpu() ? gpu_rate : cpu_rate);
      now += passed;
      waiting += passed * rate;
      lost += std::max(0.0, waiting - ring);
      waiting = std::min(waiting, ring);
    }
  }
};

TEST(DeviceChoice, StaysOnTheCpuWhileItKeepsUp) {
  Thread thread(10e6, 40e6);
  for (const double rate : {1e3, 1e5, 1e6, 5e6, 7e6}) thread.run(rate, 0.1);
  EXPECT_EQ(thread.on_gpu, 0u);
  EXPECT_EQ(thread.choice.cpu_rate(), 0);
}

TEST(DeviceChoice, TheGpuGetsWhatTheCpuCannotDo) {
  Thread thread(10e6, 40e6);
  thread.run(1e6, 0.1);
  thread.run(30e6, 0.1);
  EXPECT_EQ(thread.lost, 0);
  EXPECT_EQ(thread.changes, 1u);
  EXPECT_NEAR(thread.choice.cpu_rate(), 10e6, 1e6);
  thread.run(9e6, 0.1);  // the CPU might, but hardly
  EXPECT_EQ(thread.changes, 1u);
  thread.run(2e6, 0.1);
  EXPECT_EQ(thread.changes, 2u);
  EXPECT_FALSE(thread.choice.wants_gpu());
}

TEST(DeviceChoice, ASwingingLoadLosesNothing) {
  Thread thread(10e6, 40e6);
  for (int i = 0; i < 20; ++i) {
    thread.run(2e6, 0.1);
    EXPECT_FALSE(thread.choice.wants_gpu());
    thread.run(34e6, 0.1);
    EXPECT_TRUE(thread.choice.wants_gpu());
  }
  EXPECT_EQ(thread.lost, 0);
  EXPECT_EQ(thread.changes, 39u);
}

TEST(DeviceChoice, AGpuThatIsLateHasOnlyWhatTheCpuCannotDo) {
  Thread thread(10e6, 40e6);
  thread.late = true;
  thread.run(30e6, 0.1);
  EXPECT_TRUE(thread.choice.wants_gpu());
  EXPECT_EQ(thread.lost, 0);
  thread.run(9e6, 0.1);  // the CPU might, but hardly
  EXPECT_FALSE(thread.choice.wants_gpu());
  EXPECT_EQ(thread.lost, 0);
  thread.run(30e6, 0.1);
  EXPECT_TRUE(thread.choice.wants_gpu());
}

TEST(DeviceChoice, ASlowerGpuIsTriedLessAndLess) {
  Thread thread(10e6, 5e6);
  thread.run(1e9, 10);
  // Pauses of 10, 20, 40 ... ms fill ten seconds ten times; each trial is a window.
  EXPECT_LE(thread.changes, 22u);
  EXPECT_GE(thread.changes, 16u);
  EXPECT_LT(static_cast<double>(thread.on_gpu), 0.01 * static_cast<double>(thread.taken));
}

TEST(DeviceChoice, BurstsDoNotMakeItChangeAllTheTime) {
  Thread thread(10e6, 40e6);
  for (int i = 0; i < 1000; ++i) {  // bursts of 1,500 packets, 2 ms apart
    thread.run(50e6, 30e-6);
    thread.run(0, 2e-3);
  }
  EXPECT_EQ(thread.lost, 0);
  EXPECT_LT(thread.changes, 20u);
}

TEST(DeviceChoice, AnInterruptionDoesNotMakeTheCpuSlow) {
  Thread thread(10e6, 5e6);
  const auto batch = [&thread] {
    thread.choice.received(64, static_cast<uint64_t>(thread.now * kTicks));
    thread.now += 6.4e-6;
  };
  for (int i = 0; i < 4; ++i) batch();
  thread.now += 4e-3;  // another program's turn
  while (!thread.choice.wants_gpu()) batch();
  EXPECT_NEAR(thread.choice.cpu_rate(), 10e6, 1e5);
  thread.run(1e9, 10e-3);
  EXPECT_FALSE(thread.choice.wants_gpu());
}

}  // namespace
}  // namespace heddle::test
