/** The ring of events from kernels to the host (gpu/events.h), under kernels that push while the host reads. */

#include "gpu/events.cuh"

#include <map>

#include "simt/test_support.h"

namespace heddle::simt {
namespace {

/** 20 bytes: the last word of an entry is in use as the others are. */
struct Seen {
  uint32_t thread, turn, check[3];
  bool operator==(const Seen&) const = default;
};
__host__ __device__ Seen seen(uint32_t thread, uint32_t turn) {
  return {thread, turn, {thread ^ 0xdeadbeef, turn * 2654435761u, thread * 31 + turn}};
}

template <uint32_t kSize>
using Ring = gpu::EventRing<Seen, kSize>;

template <uint32_t kSize>
__global__ void push_all(Ring<kSize>* ring, uint32_t turns) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t turn = 0; turn < turns; ++turn) gpu::push(*ring, seen(thread, turn));
}

/** Reads words whole, as the copy engine does. */
template <uint32_t kSize>
auto reader_of(Ring<kSize>& ring) {
  return [&ring](size_t offset, std::span<std::byte> to) {
    const auto* from = reinterpret_cast<const uint64_t*>(reinterpret_cast<const std::byte*>(&ring) + offset);
    for (size_t i = 0; i < to.size() / sizeof(uint64_t); ++i) {
      const uint64_t word = __atomic_load_n(from + i, __ATOMIC_RELAXED);
      std::memcpy(to.data() + i * sizeof word, &word, sizeof word);
    }
    return true;
  };
}

/** What the host has been told: events of each thread in their order, whole, each once. */
class Log {
 public:
  void operator()(const Seen& event) {
    EXPECT_EQ(event, seen(event.thread, event.turn));
    const auto [last, first_one] = last_.try_emplace(event.thread, event.turn);
    if (!first_one) {
      EXPECT_GT(event.turn, last->second) << "thread " << event.thread;
      last->second = event.turn;
    }
    ++count;
  }
  uint64_t count = 0;

 private:
  std::map<uint32_t, uint32_t> last_;
};

template <uint32_t kSize>
void push_and_read(unsigned blocks, uint32_t turns, Log& log, gpu::EventReader<Ring<kSize>>& reader) {
  Pinned<Ring<kSize>> memory(1, Ring<kSize>{});
  const auto read = reader_of(memory[0]);
  const TestStream stream;
  EXPECT_CUDA(launch_on(stream, blocks, 64, push_all<kSize>, memory.data(), turns));
  while (cudaStreamQuery(stream) == cudaErrorNotReady) reader.poll(read, [&](const Seen& event) { log(event); });
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  reader.poll(
      read, [&](const Seen& event) { log(event); }, /*last=*/true);
  EXPECT_EQ(memory[0].pushed, uint64_t{blocks} * 64 * turns);
}

TEST(SimtEvents, all_arrive_whole_and_in_order_when_there_is_room) {
  Log log;
  gpu::EventReader<Ring<1 << 14>> reader;
  push_and_read<1 << 14>(4, 64, log, reader);
  EXPECT_EQ(log.count, 4u * 64 * 64);
  EXPECT_EQ(reader.lost(), 0u);
}

TEST(SimtEvents, what_is_overwritten_is_counted) {
  for (int round = 0; round < 5; ++round) {
    Log log;
    gpu::EventReader<Ring<37>> reader;
    push_and_read<37>(6, 200, log, reader);
    EXPECT_EQ(log.count + reader.lost(), 6u * 64 * 200);
    EXPECT_GE(log.count, 37u);  // the last ones at least
  }
}

/** A ring by hand: an event that is not written yet holds up those behind it, until it is there or lost. */
TEST(SimtEvents, one_that_is_being_written_is_waited_for) {
  Pinned<Ring<4>> memory(1, Ring<4>{});
  Ring<4>& ring = memory[0];
  const auto read = reader_of(ring);
  gpu::EventReader<Ring<4>> reader;
  std::vector<uint32_t> turns;
  const auto poll = [&](bool last = false) {
    reader.poll(
        read, [&](const Seen& event) { turns.push_back(event.turn); }, last);
  };
  const auto write = [&](uint64_t number, uint32_t words) {
    uint32_t of[5];
    const Seen event = seen(0, static_cast<uint32_t>(number));
    std::memcpy(of, &event, sizeof of);
    for (uint32_t w = 0; w < words; ++w) ring.word[number % 4][w] = uint64_t{Ring<4>::stamp_of(number)} << 32 | of[w];
  };
  poll();
  EXPECT_TRUE(turns.empty());
  ring.pushed = 3;
  write(0, 5), write(1, 4), write(2, 5);
  poll();
  EXPECT_EQ(turns, (std::vector<uint32_t>{0}));
  write(1, 5);
  poll();
  EXPECT_EQ(turns, (std::vector<uint32_t>{0, 1, 2}));
  ring.pushed = 9;  // 3 and 4 are gone; 5 is half written over by 9, whose number is not published yet
  for (uint64_t number = 5; number < 9; ++number) write(number, 5);
  write(9, 2);
  poll();
  EXPECT_EQ(turns, (std::vector<uint32_t>{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(reader.lost(), 3u);
  ring.pushed = 10;
  poll();
  EXPECT_EQ(turns.size(), 6u);
  poll(/*last=*/true);
  EXPECT_EQ(reader.lost(), 4u);
}

}  // namespace
}  // namespace heddle::simt
