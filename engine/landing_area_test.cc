#include "engine/landing_area.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "core/packet_pool.h"
#include "tests/support/frames.h"

namespace heddle {
namespace {

constexpr uint32_t kPieceBytes = 128;

/** Packets that have landed, each filled with a number of its own. */
class LandingAreaTest : public testing::Test {
 protected:
  static constexpr size_t kPackets = 512, kAreaBytes = 16384;
  static constexpr unsigned kDataRoom = 256;
  LandingAreaTest()
      : memory_(static_cast<std::byte*>(std::aligned_alloc(64, PacketPool::bytes_for(kPackets, kDataRoom)))),
        area_memory_(static_cast<std::byte*>(std::aligned_alloc(64, kAreaBytes))),
        pool_("landing", kPackets, kDataRoom, memory_.get()) {}

  struct Landed {
    Packet* packet;
    uint8_t filled;
  };
  /** Lands as many packets as the area takes of one slot with `count`; none if it is full. */
  std::vector<Landed> land(LandingArea& area, int count) {
    LandingArea::Places* places = area.take(size_t{kPieceBytes} * static_cast<size_t>(count), count);
    std::vector<Landed> landed;
    if (places == nullptr) return landed;
    std::byte* at = places->first;
    for (int i = 0; i < count; ++i, at += kPieceBytes) {
      EXPECT_GE(at, area_memory_.get());
      EXPECT_LE(at + kPieceBytes, area_memory_.get() + kAreaBytes);
      Packet* packet = nullptr;
      EXPECT_TRUE(pool_.allocate(&packet, 1));
      packet->data_len = 100, packet->pkt_len = 100;
      LandingArea::attach(packet, *places, i, at, kPieceBytes, 16);
      const auto filled = static_cast<uint8_t>(random_());
      std::memset(packet->buf_addr, filled, packet->buf_len);
      landed.push_back({packet, filled});
    }
    return landed;
  }
  static void free_checked(const Landed& landed) {
    EXPECT_EQ(length(landed.packet), 100u);
    EXPECT_EQ(landed.packet->buf_len, kPieceBytes);
    const auto* bytes = static_cast<const uint8_t*>(landed.packet->buf_addr);
    for (uint32_t b = 0; b < kPieceBytes; ++b) ASSERT_EQ(bytes[b], landed.filled) << "overwritten while in use";
    rte_pktmbuf_free(landed.packet);
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::mt19937 random_ = test::random_for("landing area");
  std::unique_ptr<std::byte, Free> memory_, area_memory_;
  PacketPool pool_;
};

// However long packets are kept, and in whatever order they are freed, nobody else gets their memory meanwhile.
TEST_F(LandingAreaTest, WhatIsInUseIsNotGivenAway) {
  LandingArea area({area_memory_.get(), kAreaBytes}, 16);
  std::vector<Landed> kept;
  int full = 0, landed = 0;
  for (int step = 0; step < 20000 && !HasFailure(); ++step) {
    auto more = land(area, 1 + static_cast<int>(random_() % 20));
    full += more.empty(), landed += static_cast<int>(more.size());
    kept.insert(kept.end(), more.begin(), more.end());
    const size_t keep = more.empty() ? random_() % (kept.size() + 1) : kept.size() - random_() % (more.size() + 1);
    while (kept.size() > keep) {
      std::swap(kept[random_() % kept.size()], kept.back());
      free_checked(kept.back());
      kept.pop_back();
    }
  }
  for (const Landed& last : kept) free_checked(last);
  EXPECT_GT(full, 100);
  EXPECT_GT(landed, 20000);
  EXPECT_EQ(pool_.available(), kPackets);
}

TEST_F(LandingAreaTest, OnePacketKeepsThePlacesOfItsSlotAndFreeingItGivesThemBack) {
  LandingArea area({area_memory_.get(), size_t{kPieceBytes} * 8}, 16);
  auto landed = land(area, 8);
  ASSERT_EQ(landed.size(), 8u);
  for (size_t i = 1; i < landed.size(); ++i) free_checked(landed[i]);
  EXPECT_TRUE(land(area, 8).empty());
  free_checked(landed[0]);
  landed = land(area, 8);
  EXPECT_EQ(landed.size(), 8u);
  for (const Landed& each : landed) free_checked(each);
}

TEST_F(LandingAreaTest, NoMoreSlotsThanItHasPlacesFor) {
  LandingArea area({area_memory_.get(), kAreaBytes}, 2);
  const auto first = land(area, 1), second = land(area, 1);
  EXPECT_TRUE(land(area, 1).empty());
  free_checked(second[0]);
  EXPECT_TRUE(land(area, 1).empty()) << "places come back in the order in which they were taken";
  free_checked(first[0]);
  const auto third = land(area, 1);
  ASSERT_EQ(third.size(), 1u);
  free_checked(third[0]);
}

// A freed packet has its own buffer again, with all of its room.
TEST_F(LandingAreaTest, AFreedPacketHasItsOwnBufferAgain) {
  LandingArea area({area_memory_.get(), kAreaBytes}, 4);
  Packet* packet = nullptr;
  ASSERT_TRUE(pool_.allocate(&packet, 1));
  void* const own = packet->buf_addr;
  const uint16_t room = packet->buf_len;
  const uint64_t mark = RTE_MBUF_F_RX_RSS_HASH;
  packet->ol_flags |= mark;
  for (int times = 0; times < 2; ++times) {  // one that has landed lands again
    LandingArea::Places* places = area.take(kPieceBytes, 1);
    ASSERT_NE(places, nullptr);
    LandingArea::attach(packet, *places, 0, places->first, kPieceBytes, 0);
    EXPECT_EQ(packet->buf_addr, places->first);
    EXPECT_EQ(packet->ol_flags, mark | RTE_MBUF_F_EXTERNAL);
    EXPECT_FALSE(is_shared(packet));
  }
  rte_pktmbuf_free(packet);
  ASSERT_TRUE(pool_.allocate(&packet, 1));
  EXPECT_EQ(packet->buf_addr, own);
  EXPECT_EQ(packet->buf_len, room);
  EXPECT_EQ(packet->ol_flags, 0u);
  rte_pktmbuf_free(packet);
}

}  // namespace
}  // namespace heddle
