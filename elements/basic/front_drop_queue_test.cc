// FrontDropQueue while another thread is in the middle of pulling.

#include "elements/basic/front_drop_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <vector>

namespace heddle::test {
namespace {

constexpr unsigned kCapacity = 64;  // rings let an eighth of it be under way

/** Lets a thread of its own pull one packet, in two steps. */
class PulledSlowly : public FrontDropQueue {
 public:
  PulledSlowly() {
    capacity_ = kCapacity;
    carries = 0;
    start({});
  }
  void begin_to_pull() {
    uint32_t first = 0, entries = 0;
    ASSERT_EQ(__rte_ring_rts_move_cons_head(ring(), 1, RTE_RING_QUEUE_FIXED, &first, &entries), 1u);
  }
  void end_pull() { __rte_ring_rts_update_tail(&ring()->rts_cons); }
  uint32_t taken_out() { return __atomic_load_n(&ring()->rts_cons.head.val.pos, __ATOMIC_ACQUIRE); }

 private:
  rte_ring* ring() { return newest()->ring.get(); }
};

void fill(Batch& batch, std::vector<Packet>& packets, size_t from, size_t count) {
  for (size_t i = 0; i < count; ++i) batch.packets()[i] = &packets[from + i];
  batch.resize(static_cast<int>(count));
}

/** Numbers of the packets in a batch. */
std::vector<int> numbers(Batch& batch, const std::vector<Packet>& packets) {
  std::vector<int> list;
  for (int i = 0; i < batch.size(); ++i) list.push_back(static_cast<int>(batch.packet(i) - packets.data()));
  return list;
}

TEST(FrontDropQueue, DropsEachPacketOnceWhileAnotherPulls) {
  for (int round = 0; round < 50; ++round) {
    PulledSlowly queue;
    std::vector<Packet> packets(kCapacity + 4);
    Batch batch(128, 0);
    fill(batch, packets, 0, kCapacity);
    queue.run_cpu(batch);
    ASSERT_EQ(batch.size(), 0);

    queue.begin_to_pull();  // packet 0, whose place becomes free with those behind it only at the end
    const uint32_t before = queue.taken_out();
    fill(batch, packets, kCapacity, 4);
    std::thread pushing([&] { queue.run_cpu(batch); });
    while (queue.taken_out() < before + 4) std::this_thread::yield();
    for (int i = 0; i < 50; ++i) std::this_thread::yield();  // so that it tries
    queue.end_pull();
    pushing.join();

    std::vector<int> dropped = numbers(batch, packets);
    std::ranges::sort(dropped);
    ASSERT_EQ(dropped, (std::vector<int>{1, 2, 3, 4}));
    for (int i = 0; i < batch.size(); ++i) EXPECT_TRUE(batch.next()[i] & kDrop);
    batch.resize(0);
    queue.receive(batch);
    std::vector<int> kept(kCapacity - 1);
    std::iota(kept.begin(), kept.end(), 5);
    ASSERT_EQ(numbers(batch, packets), kept);
  }
}

// What comes first finds room, what comes then does not: more packets are on their way out than places have become
// free.
TEST(FrontDropQueue, KeepsTheNewestOfABatchThatIsLongerThanItself) {
  PulledSlowly queue;
  std::vector<Packet> packets(200);
  Batch batch(200, 0);
  fill(batch, packets, 0, 3);
  queue.run_cpu(batch);
  fill(batch, packets, 3, 197);
  queue.run_cpu(batch);
  std::vector<int> dropped = numbers(batch, packets), all(200);
  std::ranges::sort(dropped);
  batch.resize(0);
  queue.receive(batch);
  EXPECT_EQ(batch.size(), static_cast<int>(kCapacity));
  for (const int kept : numbers(batch, packets)) dropped.push_back(kept);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(dropped, all);  // the first ones, and then the others in their order
}

}  // namespace
}  // namespace heddle::test
