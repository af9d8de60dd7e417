/** The integer intrinsics, the cache-hinted accesses and the atomics against plain loops. */

#include <cuda/atomic>

#include "simt/test_support.h"

namespace heddle::simt {
namespace {

constexpr int kRounds = 2000;

bool bit(uint64_t word, int place) { return word >> place & 1; }

TEST(SimtBits, counts_and_searches_bits) {
  Words words(1);
  for (int round = 0; round < kRounds; ++round) {
    const int shift = static_cast<int>(words.next() % 64);
    const uint64_t wide = round == 0 ? 0 : words.next() >> shift << (words.next() % 64);
    const auto word = static_cast<uint32_t>(wide);
    int count = 0, wide_count = 0, first = 0, wide_first = 0, zeros = 32, wide_zeros = 64;
    uint32_t reversed = 0;
    uint64_t wide_reversed = 0;
    for (int i = 0; i < 64; ++i) {
      if (!bit(wide, i)) continue;
      ++wide_count;
      if (wide_first == 0) wide_first = i + 1;
      wide_zeros = 63 - i;
      wide_reversed |= uint64_t{1} << (63 - i);
      if (i >= 32) continue;
      ++count;
      if (first == 0) first = i + 1;
      zeros = 31 - i;
      reversed |= 1u << (31 - i);
    }
    EXPECT_EQ(__popc(word), count);
    EXPECT_EQ(__popcll(wide), wide_count);
    EXPECT_EQ(__ffs(static_cast<int>(word)), first);
    EXPECT_EQ(__ffsll(static_cast<long long>(wide)), wide_first);
    EXPECT_EQ(__clz(static_cast<int>(word)), zeros);
    EXPECT_EQ(__clzll(static_cast<long long>(wide)), wide_zeros);
    EXPECT_EQ(__brev(word), reversed);
    EXPECT_EQ(__brevll(wide), wide_reversed);
  }
}

TEST(SimtBits, finds_the_nth_set_bit) {
  Words words(2);
  for (int round = 0; round < kRounds; ++round) {
    const uint32_t mask = words.next32();
    const auto base = static_cast<int>(words.next() % 32);
    std::vector<int> up, down;
    for (int i = base; i < 32; ++i) {
      if (bit(mask, i)) up.push_back(i);
    }
    for (int i = base; i >= 0; --i) {
      if (bit(mask, i)) down.push_back(i);
    }
    EXPECT_EQ(__fns(mask, base, 0), bit(mask, base) ? base : ~0u);
    for (size_t n = 1; n <= 32; ++n) {
      EXPECT_EQ(__fns(mask, base, static_cast<int>(n)), n <= up.size() ? up[n - 1] : ~0u);
      EXPECT_EQ(__fns(mask, base, -static_cast<int>(n)), n <= down.size() ? down[n - 1] : ~0u);
    }
  }
}

TEST(SimtBits, moves_bytes_and_shifts_pairs) {
  Words words(3);
  for (int round = 0; round < kRounds; ++round) {
    const uint32_t low = words.next32(), high = words.next32(), selector = words.next32();
    uint32_t picked = 0;
    for (int i = 0; i < 4; ++i) {
      const int from = selector >> 4 * i & 7;
      const uint32_t byte = (from < 4 ? low >> 8 * from : high >> 8 * (from - 4)) & 0xff;
      picked |= byte << 8 * i;
    }
    EXPECT_EQ(__byte_perm(low, high, selector), picked);

    const uint32_t shift = words.next32() % 64;
    uint32_t left = 0, right = 0;
    for (int i = 0; i < 32; ++i) {
      const int from_left = i + 32 - static_cast<int>(shift % 32), from_right = i + static_cast<int>(shift % 32);
      const auto bit_of_pair = [&](int place) { return place < 32 ? bit(low, place) : bit(high, place - 32); };
      left |= static_cast<uint32_t>(bit_of_pair(from_left)) << i;
      right |= static_cast<uint32_t>(bit_of_pair(from_right)) << i;
    }
    EXPECT_EQ(__funnelshift_l(low, high, shift), left);
    EXPECT_EQ(__funnelshift_r(low, high, shift), right);
    EXPECT_EQ(__umulhi(low, high), uint64_t{low} * high >> 32);
  }
}

TEST(SimtBits, compares_parts_of_words) {
  Words words(4);
  for (int round = 0; round < kRounds; ++round) {
    const uint32_t x = words.next32(), y = round % 3 == 0 ? x ^ 1u << words.next32() % 32 : words.next32();
    const uint32_t bytes = __vcmpltu4(x, y), halves = __vcmpltu2(x, y);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(uint8_t(bytes >> 8 * i), uint8_t(x >> 8 * i) < uint8_t(y >> 8 * i) ? 0xff : 0);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(uint16_t(halves >> 16 * i), uint16_t(x >> 16 * i) < uint16_t(y >> 16 * i) ? 0xffff : 0);
  }
}

TEST(SimtBits, min_and_max_convert_as_cuda_does) {
  EXPECT_EQ(min(-1, 1), -1);
  EXPECT_EQ(max(-1, 1), 1);
  EXPECT_EQ(min(-1, 1u), 1u);
  EXPECT_EQ(max(-1, 1u), ~0u);
  EXPECT_EQ(min(uint64_t{7}, uint64_t{3}), 3u);
  EXPECT_EQ(max(7ll, -3ll), 7);
  EXPECT_EQ(max(1.5f, 2.5f), 2.5f);
}

template <class T>
void expect_round_trip(T value, bool (*same)(const T&, const T&)) {
  T memory{};
  const auto expect = [&](T loaded) { EXPECT_TRUE(same(loaded, value)); };
  __stcs(&memory, value);
  expect(__ldcv(&memory));
  memory = T{};
  __stcg(&memory, value);
  expect(__ldcg(&memory));
  memory = T{};
  __stwt(&memory, value);
  expect(__ldg(&memory));
  expect(__ldcs(&memory));
}

TEST(SimtMemory, cache_hinted_accesses_move_whole_values) {
  expect_round_trip<uint8_t>(0x5a, [](const uint8_t& a, const uint8_t& b) { return a == b; });
  expect_round_trip<int>(-5, [](const int& a, const int& b) { return a == b; });
  expect_round_trip<uint64_t>(1ull << 60 | 1, [](const uint64_t& a, const uint64_t& b) { return a == b; });
  expect_round_trip<uint2>(make_uint2(1, 2), [](const uint2& a, const uint2& b) { return a.x == b.x && a.y == b.y; });
  expect_round_trip<uint4>(make_uint4(1, 2, 3, 4), [](const uint4& a, const uint4& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
  });
  expect_round_trip<ulonglong2>(make_ulonglong2(1ull << 40, 2),
                                [](const ulonglong2& a, const ulonglong2& b) { return a.x == b.x && a.y == b.y; });
}

template <class T>
void expect_atomics() {
  T word = 12;
  EXPECT_EQ(atomicAdd(&word, 3), T{12});
  EXPECT_EQ(atomicSub(&word, 5), T{15});
  EXPECT_EQ(atomicOr(&word, 5), T{10});
  EXPECT_EQ(atomicAnd(&word, 6), T{15});
  EXPECT_EQ(atomicXor(&word, 1), T{6});
  EXPECT_EQ(atomicExch(&word, 100), T{7});
  EXPECT_EQ(atomicCAS(&word, 1, 2), T{100});
  EXPECT_EQ(atomicCAS(&word, 100, 50), T{100});
  EXPECT_EQ(atomicMin(&word, 40), T{50});
  EXPECT_EQ(atomicMin(&word, 41), T{40});
  EXPECT_EQ(atomicMax(&word, 60), T{40});
  EXPECT_EQ(atomicMax(&word, 59), T{60});
  EXPECT_EQ(word, T{60});
}

TEST(SimtMemory, atomics_return_the_old_value) {
  expect_atomics<int>();
  expect_atomics<unsigned>();
  expect_atomics<unsigned long long>();
  int negative = -4;
  EXPECT_EQ(atomicMin(&negative, 3), -4);
  EXPECT_EQ(atomicMax(&negative, 3), -4);
  EXPECT_EQ(negative, 3);
}

TEST(SimtMemory, atomic_ref_changes_its_object) {
  uint32_t word = 5;
  const cuda::atomic_ref<uint32_t, cuda::thread_scope_device> ref(word);
  EXPECT_TRUE(ref.is_always_lock_free);
  EXPECT_EQ(ref.load(cuda::memory_order_acquire), 5u);
  ref.store(6, cuda::std::memory_order_release);
  EXPECT_EQ(ref.exchange(7), 6u);
  EXPECT_EQ(ref.fetch_add(3, cuda::memory_order_relaxed), 7u);
  EXPECT_EQ(ref.fetch_sub(1), 10u);
  EXPECT_EQ(ref.fetch_or(6), 9u);
  EXPECT_EQ(ref.fetch_and(7), 15u);
  EXPECT_EQ(ref.fetch_xor(1), 7u);
  EXPECT_EQ(ref.fetch_min(4), 6u);
  EXPECT_EQ(ref.fetch_max(9, cuda::memory_order_relaxed), 4u);
  uint32_t expected = 8;
  EXPECT_FALSE(ref.compare_exchange_strong(expected, 1));
  EXPECT_EQ(expected, 9u);
  EXPECT_TRUE(ref.compare_exchange_strong(expected, 1, cuda::memory_order_acq_rel, cuda::memory_order_relaxed));
  while (!ref.compare_exchange_weak(expected = 1, 2)) {
  }
  ref = 3;
  EXPECT_EQ(static_cast<uint32_t>(ref), 3u);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system);
  EXPECT_EQ(word, 3u);
}

__global__ void count_all(unsigned* counts, unsigned long long* sum) {
  atomicAdd(&counts[threadIdx.x % 4], 1);
  atomicAdd(sum, blockIdx.x * blockDim.x + threadIdx.x);
  atomicMax(&counts[4], blockIdx.x * blockDim.x + threadIdx.x);
}

TEST(SimtMemory, atomics_of_many_blocks_lose_nothing) {
  Pinned<unsigned> counts(5);
  Pinned<unsigned long long> sum(1);
  run(100, 64, count_all, counts.data(), sum.data());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(counts[i], 1600u);
  EXPECT_EQ(counts[4], 6399u);
  EXPECT_EQ(sum[0], 6399ull * 6400 / 2);
}

}  // namespace
}  // namespace heddle::simt
