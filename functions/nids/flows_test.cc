#include "functions/nids/flows.h"

#include <gtest/gtest.h>

#include <random>

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

}  // namespace
}  // namespace heddle::nids
