#include "control/fair_mutex.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace heddle {
namespace {

// A thread that asks while another takes the mutex in a loop has it after the other's turn under way.
TEST(FairMutex, NobodyIsStarvedByALoop) {
  FairMutex mutex;
  std::atomic<uint64_t> turns{0};
  std::atomic<bool> done{false};
  std::thread hog([&] {
    while (!done) {
      const std::lock_guard lock(mutex);
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
      while (std::chrono::steady_clock::now() < end) continue;
      ++turns;
    }
  });
  while (turns == 0) std::this_thread::yield();
  std::vector<uint64_t> missed;
  for (int i = 0; i < 51; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const uint64_t before = turns;
    const std::lock_guard lock(mutex);
    missed.push_back(turns - before);
  }
  done = true;
  hog.join();
  // The kernel may put this thread aside before it has asked, but not most of the time.
  std::nth_element(missed.begin(), missed.begin() + 25, missed.end());
  EXPECT_LE(missed[25], 2u);
}

TEST(FairMutex, CanBeTakenAgainByItsOwner) {
  FairMutex mutex;
  std::atomic<bool> entered{false};
  std::thread other;
  {
    const std::lock_guard outer(mutex);
    { const std::lock_guard inner(mutex); }
    other = std::thread([&] {
      const std::lock_guard lock(mutex);
      entered = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(entered) << "the inner unlock has given it away";
  }
  other.join();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace heddle
