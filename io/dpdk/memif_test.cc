#include "io/dpdk/memif.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <signal.h>
#include <sys/mman.h>

#include <vector>

#include "measure/wire/wire.h"

namespace heddle::dpdk {
namespace {

// A driver that takes the memory of a port away in the middle of its bursts.
struct Played {
  rte_mempool* pool;
  int until = 1000;  // packets of a burst before it meets the fault
};
volatile char* no_memory() {
  static void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return static_cast<volatile char*>(page);
}
uint16_t play_receiving(void* queue, rte_mbuf** packets, uint16_t n) {
  auto& played = *static_cast<Played*>(queue);
  for (int i = 0; i < n; ++i) {
    if (i == played.until) *no_memory() = 1;
    packets[i] = rte_pktmbuf_alloc(played.pool);
  }
  return n;
}
uint16_t play_sending(void* queue, rte_mbuf** packets, uint16_t n) {
  auto& played = *static_cast<Played*>(queue);
  for (int i = 0; i < n; ++i) {
    if (i == played.until) *no_memory() = 1;
    rte_pktmbuf_free(packets[i]);
  }
  return n;
}

class Memif : public ::testing::Test {
 protected:
  Memif() : wire_({.looped = true}), ports_(1), ops_(rte_eth_fp_ops[wire_.port_ids()[0]]) {
    before_ = ops_;
    played_.pool = ports_.pool().mempool();
    ops_.rx_pkt_burst = play_receiving, ops_.tx_pkt_burst = play_sending;
    survive_peer(wire_.port_ids()[0]);
  }
  ~Memif() override { ops_ = before_; }
  uint16_t receive(uint16_t n) { return ops_.rx_pkt_burst(&played_, packets_, n); }
  uint16_t send(uint16_t n) { return ops_.tx_pkt_burst(&played_, packets_, n); }
  unsigned missing() { return ports_.pool().capacity() - ports_.pool().available(); }

  bench::Wire wire_;
  bench::Standalone ports_;
  struct rte_eth_fp_ops& ops_;
  struct rte_eth_fp_ops before_;
  Played played_;
  rte_mbuf* packets_[200] = {};
};

TEST_F(Memif, BurstsEndAtAFault) {
  EXPECT_EQ(receive(100), 100);
  EXPECT_EQ(send(100), 100);
  EXPECT_EQ(missing(), 0u);
  for (const int until : {0, 1, 31}) {
    played_.until = until;
    EXPECT_EQ(receive(100), until);
    played_.until = 1000;
    EXPECT_EQ(send(static_cast<uint16_t>(until)), until);
    EXPECT_EQ(missing(), 0u);
  }
  EXPECT_EQ(receive(200), 200);
  played_.until = 40;
  const uint16_t sent = send(200);
  EXPECT_EQ(sent, 40);
  EXPECT_EQ(missing(), 200u - sent);
  for (int i = sent; i < 200; ++i) {
    EXPECT_EQ(rte_mbuf_refcnt_read(packets_[i]), 1);
    rte_pktmbuf_free(packets_[i]);
  }
}

TEST_F(Memif, AQueueThatFaultsAgainAndAgainIsLeftAlone) {
  played_.until = 0;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(receive(10), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "heddle: memif: what a peer shares makes no sense; its queue is left alone from now on\n");
  played_.until = 1000;
  EXPECT_EQ(receive(10), 0);
}

TEST_F(Memif, OtherFaultsEndTheProgram) {
  EXPECT_DEATH(*no_memory() = 1, "");
  EXPECT_DEATH(raise(SIGSEGV), "");
}

}  // namespace
}  // namespace heddle::dpdk
