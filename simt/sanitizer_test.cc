/** What the sanitizers find in kernels. Each test has one of them only; the others skip it. */

#include <cstdlib>
#include <cuda/atomic>

#include "simt/context.h"
#include "simt/test_support.h"

namespace heddle::simt {
namespace {

class SimtSanitizerDeath : public testing::Test {
 protected:
  void SetUp() override { use_threadsafe_death_tests(); }
};

/** Runs the kernel and ends well, so that only a sanitizer's report makes it a death. */
template <class... Parameters, class... Arguments>
void run_and_exit(dim3 grid, dim3 block, void (*kernel)(Parameters...), Arguments... arguments) {
  run(grid, block, kernel, arguments...);
  std::exit(0);
}

__global__ void write_at(int* memory, int index) { memory[index] = 1; }

TEST_F(SimtSanitizerDeath, address_sanitizer_sees_the_ends_of_allocations) {
  if (!SIMT_ASAN) GTEST_SKIP();
  int *device = nullptr, *host = nullptr;
  EXPECT_CUDA(cudaMalloc(&device, 12));
  EXPECT_CUDA(cudaHostAlloc(&host, 12, cudaHostAllocMapped));
  EXPECT_DEATH(run_and_exit(1, 1, write_at, device, 3), "heap-buffer-overflow");
  EXPECT_DEATH(run_and_exit(1, 1, write_at, host, 3), "heap-buffer-overflow");
  EXPECT_CUDA(cudaFree(device));
  EXPECT_CUDA(cudaFreeHost(host));
  EXPECT_DEATH(run_and_exit(1, 1, write_at, device, 0), "heap-use-after-free");
}

__noinline__ void write_word(volatile int* array, int index) { array[index] = 1; }
__global__ void write_own_array(int* out, int index) {
  int array[4] = {};
  __syncwarp();
  write_word(array, index);
  __syncwarp();
  *out = array[0];
}

TEST_F(SimtSanitizerDeath, address_sanitizer_sees_the_stacks_of_threads) {
  if (!SIMT_ASAN) GTEST_SKIP();
  Pinned<int> out(1);
  run(1, 32, write_own_array, out.data(), 0);
  EXPECT_DEATH(run_and_exit(1, 32, write_own_array, out.data(), 4), "stack-buffer-overflow");
}

/** Lane i reads what lane i + 1 wrote; how = 0 with nothing between, 1 a vote, 2 __syncwarp, 3 __syncthreads. */
__global__ void read_neighbour(int how, unsigned* out) {
  __shared__ unsigned words[64];
  words[threadIdx.x] = threadIdx.x;
  if (how == 1) __ballot_sync(~0u, 1);
  if (how == 2) __syncwarp();
  if (how == 3) __syncthreads();
  out[threadIdx.x] = words[(threadIdx.x + 1) % blockDim.x];
}

TEST_F(SimtSanitizerDeath, thread_sanitizer_sees_races_in_shared_memory) {
  if (!SIMT_TSAN) GTEST_SKIP();
  Pinned<unsigned> out(64);
  run(1, 32, read_neighbour, 2, out.data());
  run(1, 64, read_neighbour, 3, out.data());
  EXPECT_DEATH(run_and_exit(1, 32, read_neighbour, 0, out.data()), "ThreadSanitizer: data race");
  EXPECT_DEATH(run_and_exit(1, 32, read_neighbour, 1, out.data()), "ThreadSanitizer: data race");
  EXPECT_DEATH(run_and_exit(1, 64, read_neighbour, 2, out.data()), "ThreadSanitizer: data race");
}

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;

/** Each block waits for its turn, without an acquire, and writes the word. */
__global__ void write_in_turn(unsigned* turn, unsigned* word) {
  while (Flag(*turn).load(cuda::memory_order_relaxed) != blockIdx.x) __nanosleep(100);
  *word = blockIdx.x;
  Flag(*turn).store(blockIdx.x + 1, cuda::memory_order_relaxed);
}

TEST_F(SimtSanitizerDeath, thread_sanitizer_sees_races_between_blocks_and_with_the_host) {
  if (!SIMT_TSAN) GTEST_SKIP();
  Pinned<unsigned> turn(1), word(1);
  EXPECT_DEATH(run_and_exit(2, 1, write_in_turn, turn.data(), word.data()), "ThreadSanitizer: data race");
  EXPECT_DEATH(
      {
        launch_on(nullptr, 1, 1, write_in_turn, turn.data(), word.data());
        while (Flag(turn[0]).load(cuda::memory_order_relaxed) == 0) {
        }
        word[0] = 5;
        std::exit(0);
      },
      "ThreadSanitizer: data race");
}

__global__ void write_block(unsigned* word) { *word = blockIdx.x; }

TEST_F(SimtSanitizerDeath, thread_sanitizer_sees_that_blocks_have_no_order) {
  if (!SIMT_TSAN) GTEST_SKIP();
  Pinned<unsigned> word(1);
  EXPECT_DEATH(run_and_exit(2, 1, write_block, word.data()), "ThreadSanitizer: data race");
}

}  // namespace
}  // namespace heddle::simt
