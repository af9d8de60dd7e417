// `stream_size`: what the sides of TCP connections have sent.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "functions/nids/flows.h"
#include "functions/nids/packets_for_test.h"
#include "functions/nids/rule_file.h"

namespace heddle::nids {
namespace {

constexpr uint32_t kClientBegin = 0xfffffff0, kServerBegin = 7;  // the client's numbers go round at once

/** One end of a connection between hosts 1 (port 1000) and 2 (port 80), of which 1 is the client unless `turned`. */
struct Connection {
  Flows& flows;
  bool turned = false;

  /** What is known with a packet whose numbers count from those of the SYNs. */
  std::optional<Sent> see(bool back, uint8_t flags, uint32_t sequence, uint32_t acknowledgement, size_t bytes = 0,
                          bool ahead = false) {
    static const std::vector<uint8_t> kZeros(1500);
    View view{};
    view.protocol = Protocol::tcp, view.number = kTcpNumber, view.has_ports = true;
    view.source = back != turned ? 2 : 1, view.destination = back != turned ? 1 : 2;
    view.source_port = back != turned ? 80 : 1000, view.destination_port = back != turned ? 1000 : 80;
    view.tcp_flags = flags;
    view.sequence = (back ? kServerBegin : kClientBegin) + sequence;
    if ((flags & kAck) != 0) view.acknowledgement = (back ? kClientBegin : kServerBegin) + acknowledgement;
    view.payload = std::span(kZeros).first(bytes);
    flows.see(view, 0, true, ahead);
    return flows.sent(view);
  }
};

void expect(const std::optional<Sent>& sent, uint32_t client, uint32_t server) {
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->client, client);
  EXPECT_EQ(sent->server, server);
}

TEST(NidsStreamSize, CountsSequenceNumbers) {
  for (const bool turned : {false, true}) {
    Flows flows(10);
    flows.follow_sent();
    Connection connection{flows, turned};
    expect(connection.see(false, kSyn, 0, 0), 1, 0);
    expect(connection.see(true, kSyn | kAck, 0, 1), 1, 1);
    expect(connection.see(false, kAck, 1, 1), 1, 1);
    expect(connection.see(false, kAck, 1, 1, 100), 101, 1);
    expect(connection.see(true, kAck, 1, 101, 10), 101, 11);
    expect(connection.see(false, kAck, 51, 11, 20), 101, 11);        // again
    expect(connection.see(false, kAck, 151, 11, 20), 171, 11);       // ahead of its turn
    expect(connection.see(false, kAck, 101, 11, 50), 171, 11);       // which comes
    expect(connection.see(false, kAck, 171, 11, 5, true), 171, 11);  // others are to be seen before
    expect(connection.see(false, kAck, 171, 11, 5), 176, 11);
    // Neither a SYN of one side, nor an answer that nobody has asked for, takes it back.
    expect(connection.see(false, kSyn, 500, 0), 176, 11);
    expect(connection.see(true, kSyn | kAck, 0, 1), 176, 11);
    expect(connection.see(false, kSyn, 0, 0), 176, 11);
    expect(connection.see(true, kAck, 11, 0xffff), 176, 11);  // no FIN was there
    // A FIN counts when it is acknowledged, once.
    expect(connection.see(false, kFin | kAck, 176, 11, 4), 180, 11);
    expect(connection.see(true, kFin | kAck, 11, 181), 181, 11);
    expect(connection.see(false, kAck, 181, 12), 181, 12);
    expect(connection.see(false, kFin | kAck, 176, 12, 4), 181, 12);
    expect(connection.see(true, kAck, 12, 181), 181, 12);
    // Another connection on the same ports.
    connection.see(false, kSyn, 1000, 0);
    expect(connection.see(true, kSyn | kAck, 5000, 1001), 1, 1);
    expect(connection.see(false, kAck, 1001, 5001, 3), 4, 1);
  }
}

TEST(NidsStreamSize, KnowsNothingWithoutAHandshake) {
  Flows flows(10);
  Connection connection{flows};
  EXPECT_FALSE(connection.see(false, kSyn, 0, 0)) << "nobody has asked";
  flows.follow_sent();
  EXPECT_FALSE(connection.see(true, kAck, 1, 1, 10));
  EXPECT_FALSE(connection.see(false, kAck, 1, 11, 10));
  Flows others(10);
  others.follow_sent();
  Connection midstream{others};
  EXPECT_FALSE(midstream.see(false, kAck, 1, 1, 10));
  EXPECT_FALSE(midstream.see(true, kAck, 1, 11, 10));
  expect(midstream.see(false, kSyn, 0, 0), 1, 0);
  expect(midstream.see(false, kAck, 1, 1, 10), 1, 0);  // before the answer
  expect(midstream.see(true, kSyn | kAck, 0, 1), 1, 1);
  expect(midstream.see(true, kAck, 1, 1, 9), 1, 10);
}

TEST(NidsStreamSize, SynsInAnyOrder) {
  Flows flows(10);
  flows.follow_sent();
  Connection connection{flows};
  connection.see(true, kSyn | kAck, 0, 1);
  expect(connection.see(false, kSyn, 0, 0), 1, 1);
  expect(connection.see(false, kAck, 1, 1, 10), 11, 1);
}

TEST(NidsStreamSize, GoesWithItsPlace) {
  Flows flows(10), others(10);
  flows.follow_sent();
  Connection connection{flows};
  connection.see(false, kSyn, 0, 0);
  connection.see(true, kSyn | kAck, 0, 1);
  flows.swap(others);
  EXPECT_FALSE(connection.see(false, kAck, 1, 1, 10));
  flows.swap(others);
  expect(connection.see(false, kAck, 1, 1, 10), 11, 1);
  // So many others that it makes room, and is none of what took its place.
  View view{};
  view.protocol = Protocol::tcp, view.number = kTcpNumber, view.has_ports = true, view.tcp_flags = kSyn;
  view.source = 2, view.destination = 1, view.source_port = 80;
  for (uint16_t port = 2000; port < 2100; ++port) {
    view.destination_port = port, view.tcp_flags = kAck;
    flows.see(view, 1000u + port, true);
    EXPECT_FALSE(flows.sent(view)) << port;
  }
}

/** Of each rule, what is asked for. */
TEST(NidsStreamSize, AsksAsTheRuleSays) {
  struct Case {
    std::string option;
    bool (*wanted)(uint32_t client, uint32_t server);
  };
  const Case cases[] = {{"client,<,5", [](uint32_t c, uint32_t) { return c < 5; }},
                        {"server , <= , 5", [](uint32_t, uint32_t s) { return s <= 5; }},
                        {"client,=,5", [](uint32_t c, uint32_t) { return c == 5; }},
                        {"server,!=,5", [](uint32_t, uint32_t s) { return s != 5; }},
                        {"both,>,5", [](uint32_t c, uint32_t s) { return c > 5 && s > 5; }},
                        {"either,>=,5", [](uint32_t c, uint32_t s) { return c >= 5 || s >= 5; }},
                        {"either,!=,0", [](uint32_t c, uint32_t s) { return c != 0 || s != 0; }},
                        {"both,>=,4294967295", [](uint32_t c, uint32_t s) { return (c & s) == UINT32_MAX; }}};
  const uint32_t numbers[] = {0, 1, 4, 5, 6, 1000, UINT32_MAX};
  for (const Case& one : cases) {
    Variables variables;
    std::vector<std::string> errors;
    const RuleSet set = parse_rules("f", "alert ip any any -> any any (stream_size:" + one.option + "; sid:1;)", false,
                                    variables, errors);
    ASSERT_TRUE(set.rules.size() == 1u && set.rules[0].sent.size() == 1u) << one.option;
    EXPECT_TRUE(set.rules[0].asks_all(Protocol::tcp) && !set.rules[0].asks_all(Protocol::udp));
    EXPECT_EQ(set.rules[0].protocol, Protocol::tcp);
    for (const uint32_t client : numbers)
      for (const uint32_t server : numbers)
        EXPECT_EQ(set.rules[0].sent[0].holds(client, server), one.wanted(client, server))
            << one.option << ' ' << client << ' ' << server;
  }
}

TEST(NidsStreamSize, MistakesSayWhatIsWrong) {
  const std::string form = " is not SIDE,OPERATOR,NUMBER: client, server, both or either; <, >, =, !=, <= or >=";
  for (const auto& [option, wanted] : {std::pair<std::string, std::string>{"client,<", form},
                                       {"all,<,5", form},
                                       {"client,5", form},
                                       {"client,==,5", form},
                                       {"client,<,-1", form},
                                       {"client,<,4294967296", form},
                                       {"client,<,5,6", form},
                                       {"client,<,0", " matches nothing"},
                                       {"both,>,4294967295", " matches nothing"}}) {
    Variables variables;
    std::vector<std::string> errors;
    parse_rules("f", "alert tcp any any -> any any (stream_size:" + option + "; sid:1;)", false, variables, errors);
    EXPECT_EQ(errors, std::vector<std::string>{"f:1: sid 1: stream_size '" + option + "'" + wanted});
  }
  Variables variables;
  std::vector<std::string> errors;
  parse_rules("f", "alert udp any any -> any any (stream_size:client,<,5; sid:1;)", false, variables, errors);
  EXPECT_EQ(errors, std::vector<std::string>{"f:1: sid 1: it has stream_size, which is for TCP, but is for udp"});
}

}  // namespace
}  // namespace heddle::nids
