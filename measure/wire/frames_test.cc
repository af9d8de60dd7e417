#include "measure/wire/frames.h"

#include <gtest/gtest.h>

#include "measure/wire/signature.h"
#include "measure/wire/test_support.h"
#include "tests/support/frames.h"

namespace heddle::bench {
namespace {

using test::ip;

const FiveTuple kFlow{ip(10, 1, 2, 3), ip(192, 168, 0, 9), 1234, 80, kUdp};

/** The frame as the generator sends it. */
std::vector<uint8_t> stamped(std::vector<uint8_t> frame, std::mt19937& random) {
  const Stamping stamping = prepare_stamping(frame);
  const auto at = signature_at(static_cast<uint32_t>(frame.size()));
  for (uint32_t i = 0; i < kSignatureBytes; ++i) frame[at + i] = static_cast<uint8_t>(random());
  if (stamping.checksum_at != 0) {
    const auto sum = static_cast<uint16_t>(~ones_sum(&frame[at], kSignatureBytes, stamping.sum));
    std::memcpy(&frame[stamping.checksum_at], &sum, 2);
  }
  return frame;
}

TEST(Frames, ShortestIsEthernetsShortest) {
  const auto frame = make_frame(kFlow, {}, 60);
  EXPECT_EQ(frame.size(), 60u);
  EXPECT_EQ(make_frame({1, 2, 3, 4, kTcp}, {}, 60).size(), 72u);  // 18 bytes behind its headers
  EXPECT_EQ(signature_at(60), 42u);                               // right behind the UDP header
  EXPECT_EQ(signature_at(61), 42u);
}

TEST(Frames, ChecksumsAreRightForAllLengths) {
  auto random = test::random_for("frames");
  for (const uint8_t protocol : {kUdp, kTcp, uint8_t{1}, uint8_t{0}})
    for (uint32_t bytes = 60; bytes < 200; ++bytes) {
      const FiveTuple flow{static_cast<uint32_t>(random()), static_cast<uint32_t>(random()), 1, 2, protocol};
      const auto frame = make_frame(flow, {}, bytes);
      ASSERT_EQ(checksum_errors(frame), "") << bytes;
      const auto sent = stamped(frame, random);
      ASSERT_EQ(sent.size(), frame.size());  // there is room
      ASSERT_EQ(checksum_errors(sent), "") << bytes;
      FiveTuple found;
      ASSERT_TRUE(five_tuple_of(sent, found));
      EXPECT_EQ(found.source, flow.source);
      EXPECT_EQ(found.destination, flow.destination);
      EXPECT_EQ(found.protocol, protocol);
      if (protocol == kTcp || protocol == kUdp) {
        EXPECT_EQ(found, flow);
      }
    }
}

TEST(Frames, Ip6IsRightForAllLengths) {
  auto random = test::random_for("frames of IPv6");
  for (const uint8_t protocol : {kUdp, kTcp})
    for (uint32_t bytes = shortest_frame(protocol, true); bytes < 200; ++bytes) {
      Ip6Addresses ip6;
      for (size_t i = 0; i < 16; ++i)
        ip6.source[i] = static_cast<uint8_t>(random()), ip6.destination[i] = static_cast<uint8_t>(random());
      const auto frame = make_frame6({0, 0, 1, 2, protocol}, ip6, {}, bytes);
      ASSERT_EQ(frame.size(), bytes);
      ASSERT_EQ(checksum_errors6(frame), "") << bytes;
      ASSERT_TRUE(std::equal(ip6.source.begin(), ip6.source.end(), frame.begin() + 22));
      ASSERT_TRUE(std::equal(ip6.destination.begin(), ip6.destination.end(), frame.begin() + 38));
      const auto sent = stamped(frame, random);
      ASSERT_EQ(sent.size(), bytes);
      ASSERT_EQ(checksum_errors6(sent), "") << bytes;
      FiveTuple found;
      EXPECT_FALSE(five_tuple_of(sent, found));  // which is of IPv4
    }
  EXPECT_EQ(shortest_frame(kUdp, true), 80u);  // headers of 14, 40 and 8 bytes, a signature of 18
  EXPECT_EQ(shortest_frame(kTcp, true), 92u);
}

TEST(Frames, Ip6WithoutRoomGetsLongerAndStaysRight) {
  auto random = test::random_for("room in IPv6");
  for (uint32_t payload = 0; payload < 18; ++payload) {
    auto frame = make_frame6({0, 0, 1, 2, kUdp}, {}, {}, 80);
    frame.resize(62 + payload);
    frame[19] = frame[59] = static_cast<uint8_t>(8 + payload);  // both lengths
    const auto sent = stamped(frame, random);
    EXPECT_EQ(sent.size(), 80u);
    EXPECT_EQ(be16(sent, 18), 26u);
    EXPECT_EQ(be16(sent, 58), 26u);
  }
}

TEST(Frames, APacketWithoutRoomGetsLongerAndStaysRight) {
  auto random = test::random_for("room");
  for (uint32_t payload = 0; payload < 40; ++payload) {
    auto frame = make_frame({1, 2, 3, 4, kTcp}, {}, 200);
    frame.resize(54 + payload);
    set_lengths(frame);
    ASSERT_EQ(checksum_errors(frame), "");
    const auto sent = stamped(frame, random);
    EXPECT_EQ(sent.size(), payload < 18 ? 72 : 54 + payload);
    EXPECT_EQ(checksum_errors(sent), "") << payload;
  }
}

TEST(Frames, WhatIsNotIpIsSignedBehindItsEnd) {
  auto random = test::random_for("arp");
  std::vector<uint8_t> frame(60, 7);
  const auto sent = stamped(frame, random);
  ASSERT_EQ(sent.size(), 78u);
  EXPECT_TRUE(std::equal(frame.begin(), frame.end(), sent.begin()));
}

TEST(Frames, WrongAndMissingChecksumsStaySo) {
  auto random = test::random_for("wrong");
  auto frame = make_frame(kFlow, {}, 100);
  frame[70] ^= 1;
  EXPECT_NE(checksum_errors(stamped(frame, random)), "");
  frame = make_frame(kFlow, {}, 100);
  frame[40] = frame[41] = 0;
  const auto sent = stamped(frame, random);
  EXPECT_EQ(sent[40] | sent[41], 0);
}

TEST(Frames, NoInputIsReadBeyondItsEnd) {
  auto random = test::random_for("hostile frames");
  for (int i = 0; i < 20000; ++i) {
    auto frame = make_frame({1, 2, 3, 4, i % 2 ? kTcp : kUdp}, {}, 60 + random() % 40);
    for (int k = 0; k < 4; ++k) frame[12 + random() % (frame.size() - 12)] = static_cast<uint8_t>(random());
    frame.resize(random() % frame.size());
    frame.shrink_to_fit();
    FiveTuple tuple;
    five_tuple_of(frame, tuple);
    stamped(frame, random);
  }
}

}  // namespace
}  // namespace heddle::bench
