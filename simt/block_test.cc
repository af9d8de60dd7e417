/** Blocks and grids: coordinates, shared memory, barriers, and the reports of divergence within a block. */

#include <cuda/atomic>

#include "simt/test_support.h"

namespace heddle::simt {
namespace {

__global__ void write_coordinates(uint4* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = make_uint4(block, threadIdx.x, threadIdx.y, threadIdx.z);
}

TEST(SimtBlock, every_thread_of_every_block_runs_once) {
  const dim3 grid(5, 3, 7), block(4, 3, 5);
  Pinned<uint4> out(5 * 3 * 7 * 4 * 3 * 5, make_uint4(~0u, 0, 0, 0));
  run(grid, block, write_coordinates, out.data());
  size_t i = 0;
  for (unsigned b = 0; b < 105; ++b) {
    for (unsigned z = 0; z < 5; ++z) {
      for (unsigned y = 0; y < 3; ++y) {
        for (unsigned x = 0; x < 4; ++x, ++i) {
          EXPECT_EQ(out[i].x, b);
          EXPECT_EQ(out[i].y, x);
          EXPECT_EQ(out[i].z, y);
          EXPECT_EQ(out[i].w, z);
        }
      }
    }
  }
}

__global__ void sum_block(const uint32_t* in, uint32_t* sums) {
  __shared__ uint32_t partial[1024];
  const unsigned i = threadIdx.x;
  partial[i] = in[blockIdx.x * blockDim.x + i];
  __syncthreads();
  for (unsigned count = blockDim.x; count > 1;) {
    const unsigned half = (count + 1) / 2;
    if (i + half < count) partial[i] += partial[i + half];
    count = half;
    __syncthreads();
  }
  if (i == 0) sums[blockIdx.x] = partial[0];
}

TEST(SimtBlock, reduces_through_shared_memory) {
  for (unsigned threads : {1u, 2u, 33u, 64u, 1000u, 1024u}) {
    const unsigned blocks = threads <= 64 ? 200 : 5;
    Pinned<uint32_t> in(blocks * threads), sums(blocks);
    Words words(threads);
    std::vector<uint32_t> expected(blocks);
    for (size_t i = 0; i < in.size(); ++i) expected[i / threads] += in[i] = words.next32();
    run(blocks, threads, sum_block, in.data(), sums.data());
    for (unsigned b = 0; b < blocks; ++b) EXPECT_EQ(sums[b], expected[b]) << threads << " threads";
  }
}

/** More stacks in turn than the system has mappings for, were each kept with its guard. */
TEST(SimtBlock, many_large_blocks_in_turn) {
  const unsigned blocks = SIMT_TSAN ? 3 : 40;
  for (int round = 0; round < 4; ++round) {
    Pinned<uint32_t> in(blocks * 1024, 1u), sums(64);
    run(blocks, 1024, sum_block, in.data(), sums.data());
    run(64, 33, sum_block, in.data(), sums.data());
    EXPECT_EQ(sums[0], 33u);
  }
}

struct Parameters {
  uint32_t words[20];
};
__constant__ uint32_t table[4];

__global__ void take_by_value(const __grid_constant__ Parameters parameters, uint32_t* out) {
  out[threadIdx.x] = parameters.words[threadIdx.x] + table[threadIdx.x % 4];
}

TEST(SimtBlock, parameters_are_copied_at_the_launch) {
  const uint32_t values[4] = {100, 200, 300, 400};
  EXPECT_CUDA(cudaMemcpyToSymbol(table, values, sizeof values));
  Pinned<uint32_t> out(20);
  TestStream stream;
  {
    Parameters parameters;
    for (uint32_t i = 0; i < 20; ++i) parameters.words[i] = i;
    EXPECT_CUDA(launch_on(stream, 1, 20, take_by_value, parameters, out.data()));
    for (uint32_t& word : parameters.words) word = 0;
  }
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(out[i], i + values[i % 4]);
}

/** Block i goes on when block i + 1 has arrived, so all must be resident at once. */
__global__ void wait_for_next_block(uint32_t* arrived) {
  using Stamp = cuda::atomic_ref<uint32_t, cuda::thread_scope_device>;
  if (blockIdx.x + 1 < gridDim.x && threadIdx.x == 0) {
    while (Stamp(arrived[blockIdx.x + 1]).load(cuda::memory_order_acquire) == 0) {
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) Stamp(arrived[blockIdx.x]).store(1, cuda::memory_order_release);
}

TEST(SimtBlock, the_blocks_of_a_small_grid_are_co_resident) {
  Pinned<uint32_t> arrived(64);
  run(64, 33, wait_for_next_block, arrived.data());
  for (unsigned b = 0; b < 64; ++b) EXPECT_EQ(arrived[b], 1u);
}

/** A lock between threads of one block, which only works if a thread that spins lets the others run. */
__global__ void count_under_lock(uint32_t* lock, uint32_t* count) {
  cuda::atomic_ref<uint32_t, cuda::thread_scope_block> state(*lock);
  while (state.exchange(1, cuda::memory_order_acquire) != 0) {
  }
  const uint32_t before = *count;
  __nanosleep(10);
  *count = before + 1;
  state.store(0, cuda::memory_order_release);
}

TEST(SimtBlock, threads_that_spin_on_an_atomic_let_others_run) {
  Pinned<uint32_t> lock(1), count(1);
  run(1, 100, count_under_lock, lock.data(), count.data());
  EXPECT_EQ(count[0], 100u);
}

__global__ void pass_through_fences(uint32_t* data, uint32_t* flag, uint32_t* out) {
  if (threadIdx.x == 0) {
    *data = 42;
    __threadfence();
    cuda::atomic_ref(*flag).store(1, cuda::memory_order_relaxed);
  } else {
    while (cuda::atomic_ref(*flag).load(cuda::memory_order_relaxed) == 0) {
    }
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    *out = *data;
  }
}

TEST(SimtBlock, fences_order_plain_accesses) {
  Pinned<uint32_t> words(3);
  run(1, 2, pass_through_fences, &words[0], &words[1], &words[2]);
  EXPECT_EQ(words[2], 42u);
}

/** Calls itself without a loop that a compiler could make of it. */
__noinline__ uint32_t recurse(uint32_t depth) {
  volatile uint32_t frame[64];
  for (uint32_t i = 0; i < 64; ++i) frame[i] = depth;
  return depth == 0 ? frame[5] : recurse(depth - 1) + frame[depth % 64];
}
__global__ void use_stack(uint32_t* out) {
  __syncwarp();
  out[threadIdx.x] = recurse(threadIdx.x);
  __syncwarp();
}

TEST(SimtBlock, threads_have_stacks_of_their_own) {
  Pinned<uint32_t> out(64);
  run(1, 64, use_stack, out.data());
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], i * (i + 1) / 2);
}

class SimtBlockDeath : public testing::Test {
 protected:
  void SetUp() override { use_threadsafe_death_tests(); }
};

__global__ void some_exit_before_barrier() {
  if (threadIdx.x < 40) __syncthreads();
}
__global__ void warps_in_different_barriers() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void trap_here() {
  if (threadIdx.x == 3) __trap();
}
__global__ void overflow_stack(uint32_t* out) { *out = recurse(1u << 20); }

TEST_F(SimtBlockDeath, threads_that_exited_before_the_barrier) {
  EXPECT_DEATH(run(dim3(1, 1, 1), 64, some_exit_before_barrier),
               "simt: divergence in kernel block \\(0,0,0\\): only 40 of 64 threads reached __syncthreads\n"
               "  warp 0: lanes 0xffffffff wait in __syncthreads\n"
               "  warp 1: lanes 0x000000ff wait in __syncthreads, lanes 0xffffff00 have exited");
}
TEST_F(SimtBlockDeath, different_barriers) {
  EXPECT_DEATH(run(1, 64, warps_in_different_barriers), "meet in different calls of __syncthreads");
}
TEST_F(SimtBlockDeath, trap) { EXPECT_DEATH(run(1, 32, trap_here), "simt: a kernel called __trap"); }
TEST_F(SimtBlockDeath, stack_overflow_meets_the_guard) {
  Pinned<uint32_t> out(1);
  EXPECT_DEATH(run(1, 1, overflow_stack, out.data()), "");
}

}  // namespace
}  // namespace heddle::simt
