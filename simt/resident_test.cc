/** Persistent kernels that poll pinned words, and the calls that must not be made while one is resident. */

#include <cstdlib>
#include <cuda/atomic>

#include "simt/blocks.h"
#include "simt/test_support.h"

namespace heddle::simt {
namespace {

constexpr uint32_t kItems = 32;
constexpr uint32_t kRounds = 50;

using Stamp = cuda::atomic_ref<uint32_t, cuda::thread_scope_system>;

/** One mailbox of the host and one block: each side stamps its own word with the round when its items are there. */
struct Mailbox {
  alignas(64) uint32_t asked;
  alignas(64) uint32_t answered;
  alignas(64) uint32_t in[kItems], out[kItems];
};

__global__ void answer(Mailbox* boxes, uint32_t* stop) {
  Mailbox& box = boxes[blockIdx.x];
  const unsigned lane = threadIdx.x;
  for (uint32_t round = 1;; ++round) {
    uint32_t state = 0;
    for (;;) {
      if (lane == 0) {
        state = Stamp(box.asked).load(cuda::memory_order_acquire) == round ? 1
                : Stamp(*stop).load(cuda::memory_order_relaxed) != 0       ? 2
                                                                           : 0;
      }
      state = __shfl_sync(~0u, state, 0);
      if (state != 0) break;
      __nanosleep(100);
    }
    if (state == 2) return;
    __syncwarp();
    box.out[lane] = box.in[lane] * 3 + blockIdx.x;
    __syncwarp();
    if (lane == 0) Stamp(box.answered).store(round, cuda::memory_order_release);
  }
}

__global__ void wait_for_stop(uint32_t* stop) {
  while (Stamp(*stop).load(cuda::memory_order_acquire) == 0) __nanosleep(1000);
}

__global__ void nothing() {}
__global__ void nothing_either() {}

TEST(SimtResident, a_kernel_answers_the_host_until_it_is_stopped) {
  constexpr unsigned kBlocks = 3;
  Pinned<Mailbox> boxes(kBlocks, Mailbox{});
  Pinned<uint32_t> stop(1);
  TestStream stream;
  EXPECT_CUDA(launch_on(stream, kBlocks, 32, answer, boxes.data(), stop.data()));
  for (uint32_t round = 1; round <= kRounds; ++round) {
    for (unsigned b = 0; b < kBlocks; ++b) {
      for (uint32_t i = 0; i < kItems; ++i) boxes[b].in[i] = round * i;
      Stamp(boxes[b].asked).store(round, cuda::memory_order_release);
    }
    for (unsigned b = 0; b < kBlocks; ++b) {
      while (Stamp(boxes[b].answered).load(cuda::memory_order_acquire) != round) {
      }
      for (uint32_t i = 0; i < kItems; ++i) ASSERT_EQ(boxes[b].out[i], round * i * 3 + b);
    }
  }
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  Stamp(stop[0]).store(1, cuda::memory_order_relaxed);
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  cudaGetLastError();
}

__global__ void play(uint32_t* mine, uint32_t* theirs, uint32_t first) {
  for (uint32_t round = 1; round <= 20; ++round) {
    if (first != 0) Stamp(*mine).store(round, cuda::memory_order_release);
    while (Stamp(*theirs).load(cuda::memory_order_acquire) != round) {
    }
    if (first == 0) Stamp(*mine).store(round, cuda::memory_order_release);
  }
}

TEST(SimtResident, kernels_on_two_streams_run_at_the_same_time) {
  Pinned<uint32_t> words(2);
  TestStream first, second;
  cudaFuncAttributes attributes;
  EXPECT_CUDA(cudaFuncGetAttributes(&attributes, play));
  EXPECT_CUDA(launch_on(first, 1, 1, play, &words[0], &words[1], 1u));
  EXPECT_CUDA(launch_on(second, 1, 1, play, &words[1], &words[0], 0u));
  EXPECT_CUDA(cudaStreamSynchronize(first));
  EXPECT_CUDA(cudaStreamSynchronize(second));
  EXPECT_EQ(words[0], 20u);
}

TEST(SimtResident, other_streams_go_on_beside_a_resident_kernel) {
  cudaFuncAttributes attributes;
  EXPECT_CUDA(cudaFuncGetAttributes(&attributes, nothing));
  Pinned<uint32_t> stop(1);
  TestStream resident, other;
  EXPECT_CUDA(launch_on(resident, 1, 1, wait_for_stop, stop.data()));
  uint32_t *memory = nullptr, *pooled = nullptr, word = 7, copy = 0;
  EXPECT_CUDA(cudaMalloc(&memory, 4));
  EXPECT_CUDA(cudaMallocAsync(&pooled, 4, other));
  EXPECT_CUDA(cudaMemcpyAsync(memory, &word, 4, cudaMemcpyHostToDevice, other));
  EXPECT_CUDA(launch_on(other, 1, 32, nothing));
  EXPECT_CUDA(cudaMemcpyAsync(&copy, memory, 4, cudaMemcpyDeviceToHost, other));
  EXPECT_CUDA(cudaFreeAsync(pooled, other));
  EXPECT_CUDA(cudaStreamSynchronize(other));
  EXPECT_EQ(copy, 7u);
  Stamp(stop[0]).store(1, cuda::memory_order_release);
  EXPECT_CUDA(cudaStreamSynchronize(resident));
  EXPECT_CUDA(cudaFree(memory));
}

__global__ void count_rounds(uint32_t* rounds, uint32_t* stop) {
  while (!__any_sync(~0u, Stamp(*stop).load(cuda::memory_order_acquire) != 0))
    if (threadIdx.x % 32 == 0) Stamp(rounds[threadIdx.x / 32]).fetch_add(1, cuda::memory_order_relaxed);
}

TEST(SimtResident, a_held_warp_waits_and_the_others_go_on) {
  constexpr unsigned kWarps = 3;
  EXPECT_EQ(running_blocks(), 0u);
  Pinned<uint32_t> rounds(kWarps), stop(1);
  TestStream stream;
  EXPECT_CUDA(launch_on(stream, 1, kWarps * 32, count_rounds, rounds.data(), stop.data()));
  const auto wait_for = [&](unsigned warp, uint32_t more) {
    const uint32_t before = Stamp(rounds[warp]).load();
    while (Stamp(rounds[warp]).load() - before < more) sched_yield();
  };
  for (unsigned warp = 0; warp < kWarps; ++warp) {
    {
      const HeldWarp held(0, warp, kWarps * 32);
      wait_for((warp + 1) % kWarps, 2);  // it has had its turn, or lost it
      const uint32_t before = Stamp(rounds[warp]).load();
      wait_for((warp + 2) % kWarps, 20);
      EXPECT_EQ(Stamp(rounds[warp]).load(), before);
    }
    wait_for(warp, 5);
  }
  EXPECT_EQ(running_blocks(), 1u);
  for (const auto& [block, threads] : {std::pair(1u, kWarps * 32), {0u, 32u}}) {  // of others
    const HeldWarp held(block, 0, threads);
    wait_for(0, 5);
  }
  Stamp(stop[0]).store(1, cuda::memory_order_relaxed);
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(running_blocks(), 0u);
}

/** Each test calls what would hang on a GPU while a kernel is resident that nothing stops. */
class SimtResidentDeath : public testing::Test {
 protected:
  void SetUp() override {
    use_threadsafe_death_tests();
    setenv("HEDDLE_SIMT_RESIDENT_MS", "50", 1);
  }
  void TearDown() override { unsetenv("HEDDLE_SIMT_RESIDENT_MS"); }

  template <class Call>
  static void beside_resident(Call call) {
    Pinned<uint32_t> stop(1);
    TestStream stream;
    EXPECT_CUDA(launch_on(stream, 1, 1, wait_for_stop, stop.data()));
    call();
  }
};

TEST_F(SimtResidentDeath, cuda_free) {
  void* memory = nullptr;
  EXPECT_CUDA(cudaMalloc(&memory, 16));
  EXPECT_DEATH(beside_resident([&] { cudaFree(memory); }),
               "simt: cudaFree while a kernel is resident would block on a GPU: .*HEDDLE_SIMT_RESIDENT_MS");
  EXPECT_CUDA(cudaFree(memory));
}
TEST_F(SimtResidentDeath, cuda_free_host) {
  Pinned<int> memory(1);
  EXPECT_DEATH(beside_resident([&] { cudaFreeHost(memory.data()); }),
               "simt: cudaFreeHost while a kernel is resident would block on a GPU");
}
TEST_F(SimtResidentDeath, cuda_host_unregister) {
  int word = 0;
  EXPECT_CUDA(cudaHostRegister(&word, sizeof word, 0));
  EXPECT_DEATH(beside_resident([&] { cudaHostUnregister(&word); }),
               "simt: cudaHostUnregister while a kernel is resident would block on a GPU");
  EXPECT_CUDA(cudaHostUnregister(&word));
}
TEST_F(SimtResidentDeath, cuda_device_synchronize) {
  EXPECT_DEATH(beside_resident([] { cudaDeviceSynchronize(); }),
               "simt: cudaDeviceSynchronize while a kernel is resident would block on a GPU");
}
TEST_F(SimtResidentDeath, cuda_memcpy) {
  int from = 1, to = 0;
  EXPECT_DEATH(beside_resident([&] { cudaMemcpy(&to, &from, sizeof to, cudaMemcpyDefault); }),
               "simt: cudaMemcpy while a kernel is resident would block on a GPU");
}
TEST_F(SimtResidentDeath, first_launch) {
  EXPECT_DEATH(beside_resident([] { launch_on(nullptr, 1, 1, nothing_either); }),
               "simt: the first use of a kernel function, which loads it, while a kernel is resident would block");
}
TEST_F(SimtResidentDeath, a_destroyed_stream_still_counts) {
  EXPECT_DEATH(
      {
        Pinned<uint32_t> stop(1);
        {
          TestStream stream;
          launch_on(stream, 1, 1, wait_for_stop, stop.data());
        }
        cudaDeviceSynchronize();
      },
      "simt: cudaDeviceSynchronize while a kernel is resident");
}

}  // namespace
}  // namespace heddle::simt
