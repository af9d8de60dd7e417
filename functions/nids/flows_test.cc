#include "functions/nids/flows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"

namespace heddle::nids {
namespace {

constexpr uint8_t kNothing = 0;

/** A packet between hosts 1 (port 1000) and 2 (port 80). */
View packet(Protocol protocol, bool back, uint8_t flags = 0, uint32_t sequence = 0, uint32_t acknowledgement = 0) {
  View view{};
  view.protocol = protocol, view.number = protocol == Protocol::tcp ? 6 : protocol == Protocol::udp ? 17 : 1;
  view.source = back ? 2 : 1, view.destination = back ? 1 : 2;
  view.has_ports = protocol == Protocol::tcp || protocol == Protocol::udp;
  if (view.has_ports) view.source_port = back ? 80 : 1000, view.destination_port = back ? 1000 : 80;
  view.tcp_flags = flags, view.sequence = sequence, view.acknowledgement = acknowledgement;
  return view;
}
View tcp(bool back, uint8_t flags) { return packet(Protocol::tcp, back, flags); }

TEST(NidsFlows, AHandshakeBeginsAConnection) {
  for (const bool other : {false, true}) {  // who the client is
    for (const bool begins : {false, true}) {
      Flows flows(10);
      EXPECT_EQ(flows.see(tcp(other, kSyn), 0, begins), kToServer);
      EXPECT_EQ(flows.see(tcp(!other, kSyn | kAck), 0, begins), kToClient);
      EXPECT_EQ(flows.see(tcp(other, kAck), 0, begins), kToServer | kEstablished);
      EXPECT_EQ(flows.see(tcp(!other, kAck), 0, begins), kToClient | kEstablished);
      // Neither a SYN nor an answer of the client's changes that.
      EXPECT_EQ(flows.see(tcp(other, kSyn), 0, begins), kToServer);
      EXPECT_EQ(flows.see(tcp(other, kSyn | kAck), 0, begins), kToServer);
      EXPECT_EQ(flows.see(tcp(other, kAck), 0, begins), kToServer | kEstablished);
      // With a SYN of the other side this is a connection the other way round on the same ports.
      flows.see(tcp(!other, kSyn), 0, begins);
      EXPECT_EQ(flows.see(tcp(other, kAck), 0, begins), kToClient | kEstablished);
      // However long nothing comes.
      EXPECT_EQ(flows.see(tcp(!other, kAck), 1 << 30, begins), kToServer | kEstablished);
    }
  }
}

TEST(NidsFlows, SynsInAnyOrder) {
  Flows flows(10);
  flows.see(tcp(true, kSyn | kAck), 0, false);
  EXPECT_EQ(flows.see(tcp(false, kAck), 0, false) & kEstablished, 0);
  flows.see(tcp(false, kSyn), 0, false);
  EXPECT_EQ(flows.see(tcp(false, kAck), 0, false), kToServer | kEstablished);
}

TEST(NidsFlows, WithoutAHandshakeThereIsNoConnection) {
  Flows flows(10);
  EXPECT_EQ(flows.see(tcp(true, kAck), 0, false), kNothing);
  EXPECT_EQ(flows.see(tcp(true, kAck), 0, true), kToServer);
  EXPECT_EQ(flows.see(tcp(false, kAck), 0, true), kToClient);
  EXPECT_EQ(flows.see(tcp(false, kSyn), 0, true), kToServer) << "who sends a SYN is the client";
  View broken = tcp(false, 0);
  broken.has_ports = false;
  EXPECT_EQ(flows.see(broken, 0, true), kNothing);
}

TEST(NidsFlows, DatagramsOfBothSides) {
  for (const Protocol protocol : {Protocol::udp, Protocol::icmp, Protocol::ip}) {
    Flows flows(10);
    const auto see = [&](bool back, uint32_t now_ms) { return flows.see(packet(protocol, back), now_ms, true); };
    EXPECT_EQ(see(true, 0), kToServer);
    EXPECT_EQ(see(true, Flows::kNewMs), kToServer);
    EXPECT_EQ(see(false, 2 * Flows::kNewMs + 1), kToServer) << "what was before is over";
    const uint32_t then = 2 * Flows::kNewMs + 1;
    EXPECT_EQ(see(true, then), kToClient | kEstablished);
    EXPECT_EQ(see(false, then + Flows::kAnsweredMs), kToServer | kEstablished);
    EXPECT_EQ(see(false, then + 2 * Flows::kAnsweredMs + 1), kToServer);
  }
}

/** A packet of TCP between two of many endpoints. */
View between(uint32_t client, bool back, uint8_t flags, uint32_t sequence = 0, uint32_t acknowledgement = 0) {
  View view = packet(Protocol::tcp, back, flags, sequence, acknowledgement);
  (back ? view.destination : view.source) = client;
  return view;
}

// Connections whose clients have acknowledged the server's SYN outlast any number of SYNs, of answered ones, and of
// acknowledgements by those who do not see the answers. There is a client for each bucket: that ten more are in one is
// as rare as one run in 400,000, whatever the seed.
TEST(NidsFlows, AFloodOfSynsPushesOutOnlyItsLike) {
  std::mt19937 random(5);
  Flows flows(10 << 8);
  constexpr uint32_t kClients = 256, kServer = 77777;
  for (uint32_t client = 100; client < 100 + kClients; ++client) {
    flows.see(between(client, false, kSyn), client, false);
    flows.see(between(client, true, kSyn | kAck, kServer), client, false);
    flows.see(between(client, false, kAck, 0, kServer + 1), client, false);
  }
  for (uint32_t client = 1 << 20; client < (1 << 20) + 100000; ++client) {
    flows.see(between(client, false, kSyn), client, false);
    if (client % 2 == 0) {
      flows.see(between(client, true, kSyn | kAck, static_cast<uint32_t>(random())), client, false);
      flows.see(between(client, false, kAck, 0, 1000), client, false);
    }
  }
  uint32_t left = 0;
  for (uint32_t client = 100; client < 100 + kClients; ++client)
    left += flows.see(between(client, false, kAck), 1 << 21, false) == (kToServer | kEstablished) ? 1 : 0;
  EXPECT_EQ(left, kClients);
}

TEST(NidsFlows, ANewConnectionAlwaysHasAPlace) {
  Flows flows(10);
  for (uint32_t client = 100; client < 200; ++client) {
    flows.see(between(client, false, kSyn), client, false);
    flows.see(between(client, true, kSyn | kAck, 5), client, false);
    EXPECT_EQ(flows.see(between(client, false, kAck, 0, 6), client, false), kToServer | kEstablished);
  }
}

bool is_set(Flows& flows, const View& view, uint32_t bit) { return Flows::Bits(flows, view, 0).is_set(bit); }
void set(Flows& flows, const View& view, uint32_t bit) { Flows::Bits(flows, view, 0).set(bit, true); }

TEST(NidsFlows, BitsAreOfBothDirections) {
  Flows flows(10);
  std::vector<uint32_t> numbers;
  for (int n = 0; n < 200; ++n) numbers.push_back(flows.number_of_bit("bit " + std::to_string(n)));
  EXPECT_EQ(flows.number_of_bit("bit 7"), numbers[7]);
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp, Protocol::icmp})
    for (int n = 0; n < 200; n += 3) set(flows, packet(protocol, n % 2 == 0), numbers[static_cast<size_t>(n)]);
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp, Protocol::icmp})
    for (int n = 0; n < 200; ++n)
      EXPECT_EQ(is_set(flows, packet(protocol, n % 2 != 0), numbers[static_cast<size_t>(n)]), n % 3 == 0) << n;
  Flows::Bits(flows, tcp(false, kAck), 0).set(numbers[3], false);
  EXPECT_FALSE(is_set(flows, tcp(true, kAck), numbers[3]));
  EXPECT_TRUE(is_set(flows, tcp(true, kAck), numbers[6]));
  View broken = tcp(false, 0);
  broken.has_ports = false;
  Flows::Bits none(flows, broken, 0);
  none.set(numbers[0], true);
  EXPECT_FALSE(none.has_flow() || none.is_set(numbers[0]));
}

TEST(NidsFlows, BitsGoWithTheirConnection) {
  for (const bool early_answer : {false, true}) {
    Flows flows(10);
    const uint32_t bit = flows.number_of_bit("x");
    const auto see = [&](bool back, uint8_t flags, uint32_t sequence, uint32_t acknowledgement = 0) {
      flows.see(packet(Protocol::tcp, back, flags, sequence, acknowledgement), 0, false);
    };
    set(flows, tcp(false, kAck), bit);  // without a connection
    see(false, kSyn, 10);
    EXPECT_FALSE(is_set(flows, tcp(false, kAck), bit));
    set(flows, tcp(false, kSyn), bit);
    see(true, kSyn | kAck, 20, 11);
    see(false, kAck, 11, 21);
    EXPECT_TRUE(is_set(flows, tcp(true, kAck), bit)) << "what the SYN has set stays";
    // Neither side does away with it alone, nor what is sent again.
    see(false, kSyn, 10), see(true, kSyn | kAck, 20, 11), see(false, kSyn, 1000);
    EXPECT_TRUE(is_set(flows, tcp(true, kAck), bit));
    see(true, kSyn | kAck, 20, 11);
    EXPECT_TRUE(is_set(flows, tcp(true, kAck), bit));
    see(true, kSyn | kAck, 3000, 11);
    EXPECT_TRUE(is_set(flows, tcp(true, kAck), bit));
    see(true, kSyn | kAck, 20, 11);
    // Another connection, whose SYNs may be seen in any order.
    if (early_answer) see(true, kSyn | kAck, 500, 301), see(false, kSyn, 300);
    if (!early_answer) see(false, kSyn, 300), see(true, kSyn | kAck, 500, 301);
    EXPECT_FALSE(is_set(flows, tcp(true, kAck), bit));
  }
}

TEST(NidsFlows, BitsOfDatagramsAreOverWithThem) {
  Flows flows(10);
  const uint32_t bit = flows.number_of_bit("x");
  const View datagram = packet(Protocol::udp, false);
  flows.see(datagram, 0, true);
  set(flows, datagram, bit);
  flows.see(datagram, Flows::kNewMs, true);
  EXPECT_TRUE(is_set(flows, datagram, bit));
  flows.see(datagram, 2 * Flows::kNewMs + 1, true);
  EXPECT_FALSE(is_set(flows, datagram, bit));
}

TEST(NidsFlows, BitsGoWithTheirPlace) {
  Flows flows(10);
  const uint32_t bit = flows.number_of_bit("x");
  for (uint32_t client = 0; client < 1000; ++client) {
    flows.see(between(client, false, kSyn), client, false);
    EXPECT_FALSE(is_set(flows, between(client, false, 0), bit)) << client;
    set(flows, between(client, false, 0), bit);
    EXPECT_TRUE(is_set(flows, between(client, true, 0), bit)) << client;
  }
}

TEST(NidsFlows, ThereIsAnEndOfBits) {
  Flows flows(10), other(10);
  Signature rule;
  rule.bits.emplace_back().names = {"new"};
  for (uint32_t n = 0; n < Flows::kMaxBits; ++n) EXPECT_EQ(flows.number_of_bit(std::to_string(n)), n);
  EXPECT_THROW(flows.number_of_bit("new"), Error);
  EXPECT_EQ(flows.number_of_bit("77"), 77u);
  EXPECT_FALSE(flows.has_numbers_for({&rule, 1}));
  EXPECT_TRUE(other.has_numbers_for({&rule, 1}));
  flows.swap(other);
  EXPECT_EQ(flows.number_of_bit("new"), 0u);
  EXPECT_EQ(other.number_of_bit("77"), 77u);
}

// Each thread has its own bit of one flow, and all have one of others.
TEST(NidsFlows, BitsOfAllThreads) {
  constexpr uint32_t kThreads = 4, kRounds = 20000;
  Flows flows(40);
  std::vector<uint32_t> bits;
  for (uint32_t t = 0; t < kThreads; ++t) bits.push_back(flows.number_of_bit(std::to_string(t)));
  std::vector<std::thread> threads;
  std::atomic<uint32_t> wrong{0};
  for (uint32_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t round = 0; round < kRounds; ++round) {
        Flows::Bits mine(flows, packet(Protocol::udp, t % 2 == 0), 0);
        wrong += mine.is_set(bits[t]) != (round % 2 == 1);
        mine.set(bits[t], round % 2 == 0);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace heddle::nids
