// The experiments on simt and, where there is one, on the GPU, against the same work done here.

#include "bench/experiments/experiments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "core/error.h"
#include "gpu/slot_ring.h"

namespace heddle::gpu {
namespace {

// Computed with Google's own implementation of CityHash 1.1.
TEST(CityHash, OfFourBytes) {
  EXPECT_EQ(city_hash32(0), 0x48ced841u);
  EXPECT_EQ(city_hash32(1), 0xab286018u);
  EXPECT_EQ(city_hash32(0x7f), 0xf9c741eau);
  EXPECT_EQ(city_hash32(0x80), 0x7697c244u);
  EXPECT_EQ(city_hash32(0x12345678), 0x2b4bf1b7u);
  EXPECT_EQ(city_hash32(0xdeadbeef), 0x7ad2f98cu);
  EXPECT_EQ(city_hash32(0xffffffff), 0x261cb784u);
  EXPECT_EQ(city_hash32(0x80ff7f00), 0xf6091ca8u);
}

/** Waits until `done`, for a minute at most. */
template <class Done>
bool comes_true(const Done& done) {
  for (const auto start = std::chrono::steady_clock::now(); !done();)
    if (std::chrono::steady_clock::now() - start > std::chrono::minutes(1)) return false;
  return true;
}

class OnEveryDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string reason;
    if (GetParam() == std::string("gpu") && devices(reason).empty()) GTEST_SKIP() << "no GPU: " << reason;
    gpu = open_experiments(GetParam());
    std::mt19937 random(1);
    for (uint32_t i = 0; i < kEntries; ++i) table.push_back((i * 2654435761u + 12345u) & (kEntries - 1));
    for (int i = 0; i < Experiments::kMaxElements; ++i) gpu->input()[i] = static_cast<uint32_t>(random()) % kEntries;
    gpu->load(table);
  }
  void expect_results(Work work, int n) const {
    for (int i = 0; i < n; ++i)
      ASSERT_EQ(gpu->output()[i], result_of(work, gpu->input()[i])) << "element " << i << " of " << n;
  }

  /** What `work` makes of x, without the rule that the kernels share with the CPU's benchmarks. */
  uint32_t result_of(Work work, uint32_t x) const {
    if (work.kind == Work::kIncrement) return x + 1;
    while (work.depth-- > 0) x = work.kind == Work::kAccess ? table.at(x) : city_hash32(x);
    return x;
  }

  static constexpr uint32_t kEntries = 1 << 12;
  std::vector<uint32_t> table;
  std::unique_ptr<Experiments> gpu;
};

TEST_P(OnEveryDevice, EveryExchangeGivesTheSameResults) {
  for (const Exchange how : {Exchange::async, Exchange::sync, Exchange::mapped}) {
    for (const Work work : {Work{Work::kIncrement, 1}, Work{Work::kAccess, 7}, Work{Work::kHash, 3}}) {
      for (const int n : {1, 31, 256, 257, 1000}) {
        for (int i = 0; i < n; ++i)
          gpu->input()[i] = (gpu->input()[i] + 1) % kEntries;  // what was there before is wrong
        const CallTimes times = gpu->exchange(how, work, n);
        EXPECT_GT(times.launch_us, 0);
        EXPECT_EQ(times.copy_in_us > 0, how != Exchange::mapped);
        expect_results(work, n);
      }
    }
  }
}

TEST_P(OnEveryDevice, TheKernelAloneDoesTheWork) {
  EXPECT_GT(gpu->compute_s({Work::kAccess, 10}, 3000), 0);
  expect_results({Work::kAccess, 10}, 3000);
}

TEST_P(OnEveryDevice, EveryMemoryHasTheSameLimits) {
  std::mt19937 random(3);
  for (const size_t count : {1u, 2u, 31u, 32u, 33u, 1000u, 1024u, 1025u, 8192u}) {
    std::vector<uint32_t> limits(count);
    for (uint32_t& limit : limits) limit = static_cast<uint32_t>(random());
    std::ranges::sort(limits);
    gpu->load_limits(limits);
    constexpr int kValues = 300;
    for (int i = 0; i < kValues; ++i)
      gpu->input()[i] = i == 0   ? 0
                        : i == 1 ? ~0u
                        : i % 2  ? static_cast<uint32_t>(random())
                                 : limits[random() % count] + static_cast<uint32_t>(i % 3) - 1;
    for (const LimitMemory memory :
         {LimitMemory::global, LimitMemory::texture, LimitMemory::constant, LimitMemory::shared}) {
      EXPECT_GT(gpu->search_s(memory, kValues), 0);
      for (int i = 0; i < kValues; ++i)
        ASSERT_EQ(gpu->output()[i], std::ranges::lower_bound(limits, gpu->input()[i]) - limits.begin())
            << gpu->input()[i] << " among " << count << " limits, memory " << static_cast<int>(memory);
    }
  }
  EXPECT_THROW(gpu->load_limits(std::vector<uint32_t>(Experiments::kMaxLimits + 1)), Error);
}

TEST_P(OnEveryDevice, PollingDoesEveryRound) {
  for (const int n : {1, 300, 1000}) {
    gpu->start_polling(n);
    for (uint32_t round = 1; round <= 20; ++round) {
      for (int i = 0; i < n; ++i) gpu->input()[i] = round * 1000000 + static_cast<uint32_t>(i);
      gpu->poll(round);
      for (int i = 0; i < n; ++i)
        ASSERT_TRUE(comes_true([&] {
          return __atomic_load_n(&gpu->output()[i], __ATOMIC_ACQUIRE) == gpu->input()[i] + 1;
        })) << "element "
            << i << " of " << n << ", round " << round;
    }
    gpu->stop();
  }
}

TEST_P(OnEveryDevice, SlotsDoTheWorkOnEveryWord) {
  for (const Work work : {Work{Work::kIncrement, 1}, Work{Work::kAccess, 5}, Work{Work::kHash, 2}}) {
    SlotRing ring(gpu->serve(work, 4), nullptr);
    std::mt19937 random(2);
    const int rounds = work.kind == Work::kIncrement ? 300 : 20;  // 255 stamps, and round again
    for (int round = 0; round < rounds; ++round) {
      uint64_t words[kSlotPackets];
      const int count = 1 + round % kSlotPackets;
      for (int i = 0; i < count; ++i) words[i] = random() % kEntries;
      const int slot = ring.free_slot();
      ring.submit(slot, words, count);
      ASSERT_TRUE(comes_true([&] { return ring.oldest_done(); })) << "round " << round;
      for (int i = 0; i < count; ++i)
        ASSERT_EQ(ring.slot(slot).columns[i], result_of(work, static_cast<uint32_t>(words[i])));
      ring.release_oldest();
    }
    gpu->stop();
  }
}

INSTANTIATE_TEST_SUITE_P(Experiments, OnEveryDevice, testing::Values("simt", "gpu"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace heddle::gpu
