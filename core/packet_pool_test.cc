#include "core/packet_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"

namespace heddle {
namespace {

class Pool {
 public:
  Pool(unsigned count, unsigned data_room)
      : memory_(static_cast<std::byte*>(std::aligned_alloc(64, PacketPool::bytes_for(count, data_room))), std::free),
        pool_("test", count, data_room, memory_.get()),
        end_(memory_.get() + PacketPool::bytes_for(count, data_room)) {}
  PacketPool* operator->() { return &pool_; }
  bool holds(const Packet* packet) const {
    const auto* first = static_cast<std::byte*>(packet->buf_addr);
    return first >= memory_.get() && first + packet->buf_len <= end_;
  }

 private:
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
  PacketPool pool_;
  std::byte* end_;
};

TEST(PacketPool, GivesAllOrNone) {
  Pool pool(10, RTE_PKTMBUF_HEADROOM + 100);
  EXPECT_EQ(pool->capacity(), 10u);
  EXPECT_EQ(pool->data_bytes(), 100u);
  Packet* packets[11] = {};
  EXPECT_FALSE(pool->allocate(packets, 11));
  EXPECT_EQ(pool->available(), 10u);
  ASSERT_TRUE(pool->allocate(packets, 10));
  EXPECT_EQ(std::set<Packet*>(packets, packets + 10).size(), 10u);
  EXPECT_FALSE(pool->allocate(packets + 10, 1));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(pool.holds(packets[i]));
    EXPECT_EQ(length(packets[i]), 0u);
    EXPECT_EQ(packets[i]->data_off, RTE_PKTMBUF_HEADROOM);
  }
  rte_pktmbuf_free_bulk(packets, 10);
  EXPECT_EQ(pool->available(), 10u);
}

TEST(PacketPool, GivesUsedPacketsBackLikeNewOnes) {
  Pool pool(1, 2048);
  Packet* packet = nullptr;
  ASSERT_TRUE(pool->allocate(&packet, 1));
  packet->data_len = 60, packet->pkt_len = 60;
  move_head(packet, 14);
  EXPECT_EQ(length(packet), 46u);
  EXPECT_EQ(packet->pkt_len, 46u);
  rte_pktmbuf_free(packet);
  ASSERT_TRUE(pool->allocate(&packet, 1));
  EXPECT_EQ(length(packet), 0u);
  EXPECT_EQ(packet->data_off, RTE_PKTMBUF_HEADROOM);
  rte_pktmbuf_free(packet);
}

TEST(PacketPool, KnowsSharedPackets) {
  Pool pool(2, 2048);
  Packet* packet = nullptr;
  ASSERT_TRUE(pool->allocate(&packet, 1));
  EXPECT_FALSE(is_shared(packet));
  Packet* clone = rte_pktmbuf_clone(packet, pool->mempool());
  ASSERT_NE(clone, nullptr);
  EXPECT_TRUE(is_shared(packet));
  EXPECT_TRUE(is_shared(clone));
  rte_pktmbuf_free(clone);
  EXPECT_FALSE(is_shared(packet));
  rte_pktmbuf_free(packet);
  EXPECT_EQ(pool->available(), 2u);
}

TEST(PacketPool, ServesSeveralThreads) {
  Pool pool(64, 256);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      Packet* mine[20];
      for (int round = 0; round < 2000; ++round)
        if (pool->allocate(mine, 20)) rte_pktmbuf_free_bulk(mine, 20);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool->available(), 64u);
}

TEST(PacketPool, RefusesBuffersThatAnMbufCannotDescribe) {
  EXPECT_THROW(PacketPool("large", 1, 65536, nullptr), Error);
}

}  // namespace
}  // namespace heddle
