#include "core/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace heddle {
namespace {

// The cores that a thread may use once it has asked for the k-th.
int cores_after_pinning_to(int k, int& core) {
  int count = 0;
  std::thread([&] {
    pin_to_core(k);
    cpu_set_t mine;
    CPU_ZERO(&mine);
    ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    count = CPU_COUNT(&mine), core = sched_getcpu();
    EXPECT_EQ(core_count(), static_cast<int>(allowed_cores().size())) << "those of the process, not of this thread";
  }).join();
  return count;
}

TEST(Cores, ThreadsArePinnedToThoseOfTheProcess) {
  const std::vector<int> cores = allowed_cores();
  ASSERT_FALSE(cores.empty());
  EXPECT_TRUE(std::is_sorted(cores.begin(), cores.end()));
  for (int k = 0; k < core_count(); ++k) {
    int core = -1;
    EXPECT_EQ(cores_after_pinning_to(k, core), 1);
    EXPECT_EQ(core, cores[static_cast<size_t>(k)]);
  }
}

TEST(Cores, WithoutSuchACoreAThreadStaysFree) {
  int core = -1;
  EXPECT_EQ(cores_after_pinning_to(core_count(), core), core_count());
  EXPECT_EQ(cores_after_pinning_to(-1, core), core_count());
}

}  // namespace
}  // namespace heddle
