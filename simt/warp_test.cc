/** Every warp operation against a plain loop over the lanes, and the reports of divergence within a warp. */

#include "simt/test_support.h"

namespace heddle::simt {
namespace {

constexpr unsigned kLanes = 32;
constexpr int kRounds = 40;

/** Runs one warp whose lane i has in[i]; lanes outside the mask take no part and answer 0. */
template <class T>
struct Case {
  Pinned<T> in{kLanes};
  Pinned<T> out{kLanes};
  uint32_t mask = ~0u;

  explicit Case(Words& words, uint32_t lanes) : mask(lanes) {
    for (unsigned i = 0; i < kLanes; ++i) in[i] = static_cast<T>(words.next() >> 7);
  }
  bool holds(unsigned lane) const { return lane < kLanes && (mask >> lane & 1); }
};

uint32_t some_mask(Words& words, int round) { return round % 2 == 0 ? ~0u : words.next32() | 1u; }

__global__ void vote(uint32_t mask, const uint32_t* in, uint32_t* ballots, int* any, int* all) {
  const unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1)) return __syncwarp(~mask);
  ballots[lane] = __ballot_sync(mask, in[lane] & 4);
  any[lane] = __any_sync(mask, in[lane] & 4);
  all[lane] = __all_sync(mask, in[lane] & 4);
}

TEST(SimtWarp, votes) {
  Words words(1);
  for (int round = 0; round < kRounds; ++round) {
    Case<uint32_t> test(words, some_mask(words, round));
    if (round % 5 == 0) {
      for (unsigned i = 0; i < kLanes; ++i) test.in[i] = round % 10 == 0 ? 4 : 0;
    }
    Pinned<int> any(kLanes), all(kLanes);
    run(1, kLanes, vote, test.mask, test.in.data(), test.out.data(), any.data(), all.data());
    uint32_t votes = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      if (test.holds(i) && (test.in[i] & 4)) votes |= 1u << i;
    }
    for (unsigned i = 0; i < kLanes; ++i) {
      EXPECT_EQ(test.out[i], test.holds(i) ? votes : 0);
      EXPECT_EQ(any[i], test.holds(i) && votes != 0);
      EXPECT_EQ(all[i], test.holds(i) && votes == test.mask);
    }
  }
}

template <class T>
__global__ void shuffle(uint32_t mask, int kind, int operand, int width, const T* in, T* out) {
  const unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  // An index may differ from lane to lane.
  if (kind == 0) out[lane] = __shfl_sync(mask, in[lane], operand + static_cast<int>(3 * lane), width);
  if (kind == 1) out[lane] = __shfl_up_sync(mask, in[lane], static_cast<unsigned>(operand), width);
  if (kind == 2) out[lane] = __shfl_down_sync(mask, in[lane], static_cast<unsigned>(operand), width);
  if (kind == 3) out[lane] = __shfl_xor_sync(mask, in[lane], operand, width);
}

template <class T>
void expect_shuffles() {
  Words words(sizeof(T));
  for (int round = 0; round < kRounds; ++round) {
    const int kind = round % 4, width = 1 << words.next() % 6, operand = static_cast<int>(words.next() % 32);
    Case<T> test(words, some_mask(words, round / 4));
    run(1, kLanes, shuffle<T>, test.mask, kind, operand, width, test.in.data(), test.out.data());
    for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
      if (!test.holds(static_cast<unsigned>(lane))) continue;
      const int first = lane / width * width, end = first + width;
      int source = lane;
      if (kind == 0) source = first + (operand + 3 * lane) % width;
      if (kind == 1 && lane - operand >= first) source = lane - operand;
      if (kind == 2 && lane + operand < end) source = lane + operand;
      if (kind == 3 && (lane ^ operand) < end) source = lane ^ operand;
      if (test.holds(static_cast<unsigned>(source))) {
        EXPECT_EQ(test.out[lane], test.in[source]) << "kind " << kind << " operand " << operand << " width " << width;
      } else {
        EXPECT_EQ(to_bits(test.out[lane]), sizeof(T) == 4 ? 0xa5a5a5a5u : 0xa5a5a5a5a5a5a5a5u);
      }
    }
  }
}

TEST(SimtWarp, shuffles) {
  expect_shuffles<int>();
  expect_shuffles<uint32_t>();
  expect_shuffles<float>();
  expect_shuffles<uint64_t>();
  expect_shuffles<long long>();
  expect_shuffles<double>();
}

template <class T>
__global__ void match(uint32_t mask, const T* in, uint32_t* out) {
  if (mask >> threadIdx.x & 1) out[threadIdx.x] = __match_any_sync(mask, in[threadIdx.x]);
}

template <class T>
void expect_matches() {
  Words words(5);
  for (int round = 0; round < kRounds; ++round) {
    Case<T> test(words, some_mask(words, round));
    for (unsigned i = 0; i < kLanes; ++i) test.in[i] = static_cast<T>(test.in[i] % 5 << (8 * sizeof(T) - 4));
    Pinned<uint32_t> out(kLanes);
    run(1, kLanes, match<T>, test.mask, test.in.data(), out.data());
    for (unsigned i = 0; i < kLanes; ++i) {
      uint32_t same = 0;
      for (unsigned j = 0; j < kLanes; ++j) {
        if (test.holds(i) && test.holds(j) && test.in[i] == test.in[j]) same |= 1u << j;
      }
      EXPECT_EQ(out[i], same);
    }
  }
}

TEST(SimtWarp, matches) {
  expect_matches<uint32_t>();
  expect_matches<uint64_t>();
}

template <class T>
__global__ void reduce(uint32_t mask, const T* in, T* sum, T* least, T* greatest) {
  const unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  sum[lane] = __reduce_add_sync(mask, in[lane]);
  least[lane] = __reduce_min_sync(mask, in[lane]);
  greatest[lane] = __reduce_max_sync(mask, in[lane]);
}

template <class T>
void expect_reductions() {
  Words words(6);
  for (int round = 0; round < kRounds; ++round) {
    Case<T> test(words, some_mask(words, round));
    Pinned<T> least(kLanes), greatest(kLanes);
    run(1, kLanes, reduce<T>, test.mask, test.in.data(), test.out.data(), least.data(), greatest.data());
    uint32_t sum = 0;
    T low = test.in[0], high = test.in[0];
    for (unsigned i = 0; i < kLanes; ++i) {
      if (!test.holds(i)) continue;
      sum += static_cast<uint32_t>(test.in[i]);
      low = std::min(low, test.in[i]);
      high = std::max(high, test.in[i]);
    }
    for (unsigned i = 0; i < kLanes; ++i) {
      if (!test.holds(i)) continue;
      EXPECT_EQ(test.out[i], static_cast<T>(sum));
      EXPECT_EQ(least[i], low);
      EXPECT_EQ(greatest[i], high);
    }
  }
}

TEST(SimtWarp, reductions) {
  expect_reductions<int>();
  expect_reductions<unsigned>();
}

__global__ void reduce_bits(uint32_t mask, const uint32_t* in, uint32_t* all, uint32_t* any, uint32_t* odd) {
  const unsigned lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  all[lane] = __reduce_and_sync(mask, in[lane]);
  any[lane] = __reduce_or_sync(mask, in[lane]);
  odd[lane] = __reduce_xor_sync(mask, in[lane]);
}

TEST(SimtWarp, bit_reductions) {
  Words words(7);
  for (int round = 0; round < kRounds; ++round) {
    Case<uint32_t> test(words, round == 1 ? 0x9 : some_mask(words, round));
    Pinned<uint32_t> any(kLanes), odd(kLanes);
    run(1, kLanes, reduce_bits, test.mask, test.in.data(), test.out.data(), any.data(), odd.data());
    uint32_t and_of = ~0u, or_of = 0, xor_of = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      if (!test.holds(i)) continue;
      and_of &= test.in[i];
      or_of |= test.in[i];
      xor_of ^= test.in[i];
    }
    EXPECT_EQ(test.out[0], and_of);
    EXPECT_EQ(any[0], or_of);
    EXPECT_EQ(odd[0], xor_of);
  }
}

__global__ void exchange_in_shared(uint32_t* out) {
  __shared__ uint32_t words[kLanes];
  const unsigned lane = threadIdx.x;
  for (uint32_t round = 0; round < 100; ++round) {
    words[lane] = round * lane;
    __syncwarp();
    out[lane] += words[(lane + round) % kLanes];
    __syncwarp();
  }
}

TEST(SimtWarp, syncwarp_orders_shared_memory) {
  Pinned<uint32_t> out(kLanes);
  run(1, kLanes, exchange_in_shared, out.data());
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    uint32_t sum = 0;
    for (uint32_t round = 0; round < 100; ++round) sum += round * ((lane + round) % kLanes);
    EXPECT_EQ(out[lane], sum);
  }
}

__global__ void halves(uint32_t* out) {
  const unsigned lane = threadIdx.x;
  if (lane < 16) {
    for (int i = 0; i < 3; ++i) out[lane] += __ballot_sync(0xffff, lane % 2);
  } else {
    out[lane] = __reduce_add_sync(0xffff0000, lane);
  }
}

TEST(SimtWarp, disjoint_masks_go_their_own_ways) {
  Pinned<uint32_t> out(kLanes);
  run(1, kLanes, halves, out.data());
  for (unsigned lane = 0; lane < kLanes; ++lane) EXPECT_EQ(out[lane], lane < 16 ? 3u * 0xaaaa : 376u);
}

__global__ void count_block(uint32_t* ballots, uint32_t* active) {
  ballots[threadIdx.x] = __ballot_sync(~0u, 1);
  active[threadIdx.x] = __activemask();
  __syncwarp();
}

TEST(SimtWarp, a_short_last_warp_has_only_its_lanes) {
  for (unsigned threads : {1u, 31u, 33u, 64u, 100u, 1024u}) {
    Pinned<uint32_t> ballots(threads), active(threads);
    run(1, threads, count_block, ballots.data(), active.data());
    for (unsigned i = 0; i < threads; ++i) {
      const unsigned lanes = std::min(threads - i / kLanes * kLanes, kLanes);
      const uint32_t present = lanes == kLanes ? ~0u : (1u << lanes) - 1;
      EXPECT_EQ(ballots[i], present);
      EXPECT_EQ(active[i], present);
    }
  }
}

class SimtWarpDeath : public testing::Test {
 protected:
  void SetUp() override { use_threadsafe_death_tests(); }
};

__global__ void half_exits() {
  if (threadIdx.x < 16) __ballot_sync(~0u, 1);
}
__global__ void half_votes_otherwise() {
  if (threadIdx.x % 2) {
    __any_sync(~0u, 1);
  } else {
    __shfl_sync(~0u, 1, 0);
  }
}
__global__ void masks_differ() { __syncwarp(threadIdx.x < 16 ? ~0u : 0xffff0000u | 1u); }
__global__ void mask_without_caller() { __ballot_sync(0x0000fffe, 1); }
__global__ void half_waits_in_barrier() {
  if (threadIdx.x < 4) __syncthreads();
  __syncwarp();
}
__global__ void polls_beside_divergence(volatile int* go_on) {
  if (threadIdx.x < 32) {
    while (*go_on) __nanosleep(100);
  } else if (threadIdx.x != 63) {
    __match_any_sync(~0u, 7);
  }
}

TEST_F(SimtWarpDeath, lanes_that_exited) {
  EXPECT_DEATH(run(1, 32, half_exits),
               "simt: divergence in kernel block \\(0,0,0\\), warp 0: lanes 0x0000ffff wait in __ballot_sync, "
               "lanes 0xffff0000 have exited\n.*mask 0xffffffff, at .*warp_test.cc:");
}
TEST_F(SimtWarpDeath, lanes_in_another_operation) {
  EXPECT_DEATH(run(dim3(1, 1, 1), 64, half_votes_otherwise),
               "warp 0: lanes 0x55555555 wait in __shfl_sync, lanes 0xaaaaaaaa wait in __any_sync");
}
TEST_F(SimtWarpDeath, different_masks) {
  EXPECT_DEATH(run(1, 32, masks_differ), "lanes 0x0000ffff wait in __syncwarp, lanes 0xffff0000 wait in __syncwarp");
}
TEST_F(SimtWarpDeath, mask_without_the_caller) {
  EXPECT_DEATH(run(1, 32, mask_without_caller),
               "simt: divergence in kernel block \\(0,0,0\\), warp 0: lane 0 calls __ballot_sync with mask 0x0000fffe, "
               "which does not name it");
}
TEST_F(SimtWarpDeath, lanes_in_the_barrier) {
  EXPECT_DEATH(run(1, 32, half_waits_in_barrier),
               "lanes 0x0000000f wait in __syncthreads, lanes 0xfffffff0 wait in __syncwarp");
}
TEST_F(SimtWarpDeath, beside_a_warp_that_polls) {
  int go_on = 1;
  EXPECT_DEATH(run(1, 64, polls_beside_divergence, &go_on),
               "warp 1: lanes 0x7fffffff wait in __match_any_sync, lanes 0x80000000 have exited");
}
TEST_F(SimtWarpDeath, outside_of_a_kernel) {
  EXPECT_DEATH(__syncwarp(), "simt: a warp operation called outside of a kernel");
}

}  // namespace
}  // namespace heddle::simt
