// Floods of flows that nobody goes on with: what they cost a FlowTable and a NAT; and how long flows last.

#include <set>

#include "functions/flow/flow.h"
#include "functions/flow/oracle_for_test.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

using flow::Key;
using flow::Says;

constexpr unsigned kFinFlag = 1, kSynFlag = 2, kRstFlag = 4, kAckFlag = 16;

struct EndedKeys : flow::Watcher {
  std::set<uint32_t> sources;
  void flow_ends(const flow::Entry& entry, int) override { sources.insert(entry.key.source); }
};

/** Packets `says`, one after the other, of one flow or its way back, each in a batch of its own. The place of the last.
 */
uint32_t touch(flow::ThreadTable& table, const Key& key, uint32_t now, const std::vector<Says>& says) {
  uint32_t place = flow::kNoFlow;
  for (const Says each : says) {
    table.begin_batch();
    table.find_or_add(&key, &now, &place, 1, &each);
  }
  return place;
}
Key back(const Key& key) { return {key.destination, key.source, key.destination_port, key.source_port, key.protocol}; }

// A flood of flows of several packets, be it of SYNs that are sent again or of UDP, which nobody answers, ends none
// that both sides go on with, and leaves room for others.
TEST(FlowFlood, OfSeveralPacketsEndsNoEstablishedFlow) {
  struct Flood {
    uint32_t protocol;
    std::vector<Says> says;
    bool answered;  // with a SYN and ACK, as servers do
  };
  for (const Flood& flood : {Flood{6, {Says::opens, Says::opens}, false},
                             Flood{6, {Says::opens, Says::opens, Says::opens, Says::closes}, true},
                             Flood{6, {Says::goes_on, Says::goes_on, Says::goes_on}, false},
                             Flood{17, {Says::none, Says::none, Says::none}, false}}) {
    EndedKeys ended;
    const std::vector<flow::Watcher*> watchers = {&ended};
    flow::ThreadTable table(0, 1000, {60000, 60000, 60000}, 1234567, watchers);
    constexpr uint32_t kKnown = 200;
    std::vector<uint32_t> places;
    for (uint32_t k = 0; k < kKnown; ++k) {
      const Key key{k, 200000, 3, 4, k % 2 == 0 ? 6u : 17u};
      const Says first = k % 2 == 0 ? Says::opens : Says::none, then = k % 2 == 0 ? Says::goes_on : Says::none;
      touch(table, key, 1, {first});
      touch(table, back(key), 1, {first, then});
      places.push_back(touch(table, key, 1, {then}));
    }
    size_t refused = 0;
    for (uint32_t k = 0; k < 50000; ++k) {
      const Key key{0x1000000 + k, 9, 3, 4, flood.protocol};
      refused += touch(table, key, 3 + k / 1000, flood.says) == flow::kNoFlow ? 1 : 0;
      if (flood.answered) refused += touch(table, back(key), 3 + k / 1000, {Says::opens}) == flow::kNoFlow ? 1 : 0;
    }
    EXPECT_EQ(refused, 0u) << "new flows take the place of their like";
    for (uint32_t k = 0; k < kKnown; ++k)
      ASSERT_EQ(table.find({k, 200000, 3, 4, k % 2 == 0 ? 6u : 17u}), places[k]) << k;
    for (const uint32_t source : ended.sources) ASSERT_TRUE(source >= 0x1000000 || source == 9) << source;
  }
}

// Those that have gone on without an answer stay while there are others that have not gone on.
TEST(FlowFlood, OfSynsEndsNoFlowThatGoesOn) {
  EndedKeys ended;
  const std::vector<flow::Watcher*> watchers = {&ended};
  flow::ThreadTable table(0, 1000, {60000, 60000, 60000}, 7654321, watchers);
  for (uint32_t k = 0; k < 300; ++k) touch(table, {k, 2, 3, 4, 6}, 1, {Says::opens, Says::goes_on});
  for (uint32_t k = 0; k < 100000; ++k)
    ASSERT_NE(touch(table, {0x1000000 + k, 2, 3, 4, 6}, 3 + k / 1000, {Says::opens, Says::opens}), flow::kNoFlow);
  EXPECT_GE(*ended.sources.begin(), 0x1000000u);
}

// A RST, which anyone may have sent, counts until the connection goes on.
TEST(FlowFlood, ConnectionsOutliveAReset) {
  const std::vector<flow::Watcher*> watchers;
  flow::ThreadTable table(0, 1000, {60000, 10000, 20000}, 3, watchers);
  const Key key{1, 2, 3, 4, 6};
  touch(table, key, 1, {Says::opens});
  touch(table, back(key), 1, {Says::opens});
  const uint32_t place = touch(table, key, 1, {Says::goes_on, Says::resets});
  EXPECT_FALSE(table.entry(place).established());
  touch(table, key, 2, {Says::goes_on});
  EXPECT_TRUE(table.entry(place).established());
  touch(table, key, 3, {Says::closes, Says::resets, Says::goes_on});
  EXPECT_FALSE(table.entry(place).established()) << "behind a FIN there are ACKs";
}

// An established connection that a FIN or RST has ended makes room for others; a SYN begins the next one on its ports.
TEST(FlowFlood, ClosedConnectionsMakeRoom) {
  const std::vector<flow::Watcher*> watchers;
  flow::ThreadTable table(0, 1000, {60000, 10000, 20000}, 3, watchers);
  const Key key{1, 2, 3, 4, 6};
  touch(table, key, 1, {Says::opens});
  touch(table, back(key), 1, {Says::opens});
  const uint32_t place = touch(table, key, 1, {Says::goes_on});
  EXPECT_TRUE(table.entry(place).established());
  touch(table, key, 2, {Says::closes, Says::goes_on});
  EXPECT_FALSE(table.entry(place).established());
  touch(table, key, 3, {Says::opens, Says::goes_on});
  EXPECT_FALSE(table.entry(place).established()) << "nobody has answered the SYN";
  touch(table, key, 3, {Says::closes, Says::opens});
  const uint32_t place_back = touch(table, back(key), 3, {Says::opens});
  touch(table, key, 3, {Says::goes_on});
  EXPECT_TRUE(table.entry(place).established());
  EXPECT_FALSE(table.entry(place_back).established()) << "it has opened only";
  table.begin_batch();
  table.age(table.places(), 50000);
  EXPECT_EQ(table.find(key), place);
  EXPECT_EQ(table.find(back(key)), flow::kNoFlow) << "it had opened only";
  table.age(table.places(), 60004);
  EXPECT_EQ(table.find(key), flow::kNoFlow);
}

// A connection that both sides have closed, and the next on its ports, whose SYN may be sent again.
TEST(FlowFlood, ConnectionsFollowEachOther) {
  const std::vector<flow::Watcher*> watchers;
  flow::ThreadTable table(0, 1000, {60000, 10000, 20000}, 3, watchers);
  const Key key{1, 2, 3, 4, 6};
  for (const Says end : {Says::closes, Says::resets})
    for (const bool again : {false, true}) {
      touch(table, key, 1, {Says::opens});
      touch(table, back(key), 1, {Says::opens});
      if (again) touch(table, key, 1, {Says::opens});
      const uint32_t place = touch(table, key, 1, {Says::goes_on});
      const uint32_t place_back = touch(table, back(key), 1, {Says::goes_on});
      EXPECT_TRUE(table.entry(place).established() && table.entry(place_back).established());
      touch(table, key, 1, {end});
      touch(table, back(key), 1, {end});
      EXPECT_FALSE(table.entry(place).established() || table.entry(place_back).established());
      touch(table, key, 1, {Says::opens, Says::goes_on});
      EXPECT_FALSE(table.entry(place).established()) << "the old connection answers no new SYN";
      touch(table, key, 1, {end});
    }
}

/** IPv4 with the headers at kL3 and behind, of TCP with these flags, else of UDP. With ACK it acknowledges the SYN with
 *  sequence number 0. */
Frame packet(uint32_t source, unsigned source_port, uint32_t destination, unsigned destination_port, int protocol,
             unsigned flags, uint64_t ms, uint32_t sequence = 0, uint32_t acknowledgement = 1) {
  constexpr size_t kAt = kL3 + 20;
  Frame frame = ip_frame(source, destination, protocol == 6 ? 20 : 8);
  Bytes& bytes = frame.bytes;
  bytes[kL3 + 9] = static_cast<uint8_t>(protocol);
  set_ip_checksum(bytes, kL3);
  put_u16(bytes, kAt, source_port), put_u16(bytes, kAt + 2, destination_port);
  if (protocol == 6) {
    bytes[kAt + 13] = static_cast<uint8_t>(flags);
    put_u32(bytes, kAt + 4, sequence);
    if ((flags & kAckFlag) != 0) put_u32(bytes, kAt + 8, acknowledgement);
  }
  frame.column[static_cast<int>(Column::l3)] = kL3;
  frame.column[static_cast<int>(Column::l4)] = kAt;
  frame.timestamp_ns = ms * 1000000;
  return frame;
}

constexpr uint32_t kInside = ip(10, 0, 0, 1), kOutside = ip(198, 51, 100, 7), kPublic = ip(192, 0, 2, 1);

Result through_nat(const std::vector<Frame>& frames, const std::string& table, const std::string& ports) {
  return run("TestSource(SETS \"l3 l4\") -> flows :: FlowTable(TIMESTAMPS true" + table +
                 ") -> nat :: NAT(flows, 192.0.2.1, PORTS " + ports +
                 "); nat[0] -> out :: TestSink; nat[1] -> back :: TestSink;",
             cpu(), frames, {.batches = {1}});
}

/** The public ports that packets have got, by arrival. */
std::vector<unsigned> ports_of(const Result& result) {
  std::vector<unsigned> ports;
  for (const Received& packet : result.at("out")) ports.push_back(get_u32(packet.bytes, kL3 + 20) >> 16);
  return ports;
}

// Where all ports are in use, those of a flood are given to others, and none of a connection.
TEST(FlowFlood, LeavesNatPortsToOthers) {
  std::vector<Frame> frames;
  const auto goes_out = [&](unsigned port, int protocol, unsigned flags, uint64_t ms) {
    frames.push_back(packet(kInside, port, kOutside, 80, protocol, flags, ms));
  };
  // Port 2000 becomes that of a connection; 2001 to 2063 are left.
  goes_out(1000, 6, kSynFlag, 1);
  frames.push_back(packet(kOutside, 80, kPublic, 2000, 6, kSynFlag | kAckFlag, 2));
  goes_out(1000, 6, kAckFlag, 3);
  for (unsigned k = 0; k < 500; ++k)
    for (const unsigned again : {0u, 1u}) goes_out(5000 + k, 6, kSynFlag, 10 + k + again);
  goes_out(1000, 6, kAckFlag, 600);
  goes_out(1001, 6, kSynFlag, 601);
  goes_out(1001, 6, kSynFlag, 602);
  const Result result = through_nat(frames, "", "2000-2063");
  EXPECT_EQ(result.drop("nat.no_port"), 0u);
  EXPECT_EQ(result.statistics.at("nat.evicted"), 502u - 64);
  EXPECT_EQ(result.statistics.at("nat.evicted"), result.statistics.at("flows.evicted"));
  EXPECT_EQ(result.statistics.at("nat.ports"), 64u);
  const std::vector<unsigned> ports = ports_of(result);
  ASSERT_EQ(ports.size(), frames.size() - 1);
  EXPECT_EQ(ports[1], 2000u);
  EXPECT_EQ(ports[ports.size() - 3], 2000u);
  EXPECT_EQ(ports[ports.size() - 2], ports.back());
  for (size_t k = 2; k + 3 < ports.size(); ++k) ASSERT_NE(ports[k], 2000u);
}

// With nothing but connections there is no port for another.
TEST(FlowFlood, ConnectionsKeepTheirPorts) {
  std::vector<Frame> frames;
  for (unsigned k = 0; k < 4; ++k) {
    frames.push_back(packet(kInside, 1000 + k, kOutside, 80, 6, kSynFlag, 1));
    frames.push_back(packet(kOutside, 80, kPublic, 2000 + k, 6, kSynFlag | kAckFlag, 2));
    frames.push_back(packet(kInside, 1000 + k, kOutside, 80, 6, kAckFlag, 3));
  }
  // One is reset by nobody knows whom, and goes on.
  frames.push_back(packet(kOutside, 80, kPublic, 2001, 6, kRstFlag, 4));
  frames.push_back(packet(kInside, 1001, kOutside, 80, 6, kAckFlag, 4));
  frames.push_back(packet(kInside, 1009, kOutside, 80, 6, kSynFlag, 4));  // "no_port"
  frames.push_back(packet(kOutside, 80, kPublic, 2002, 6, kRstFlag, 5));
  frames.push_back(packet(kInside, 1009, kOutside, 80, 6, kSynFlag, 6));
  const Result result = through_nat(frames, "", "2000-2003");
  EXPECT_EQ(result.drop("nat.no_port"), 1u);
  EXPECT_EQ(result.at("back").size(), 6u);
  EXPECT_EQ(ports_of(result).back(), 2002u);
}

// What comes late for the flow that a port was taken from does nothing to the connection that has it now.
TEST(FlowFlood, TakenPortsGetNoAnswersOfOthers) {
  std::vector<Frame> frames;
  const auto goes_out = [&](unsigned port, unsigned flags, uint32_t sequence) {
    frames.push_back(packet(kInside, port, kOutside, 80, 6, flags, frames.size(), sequence));
  };
  const auto comes_back = [&](unsigned flags, uint32_t acknowledgement) {
    frames.push_back(packet(kOutside, 80, kPublic, 2000, 6, flags, frames.size(), 0, acknowledgement));
  };
  goes_out(1000, kSynFlag, 100);
  goes_out(1001, kSynFlag, 0x80000000);  // takes the port
  comes_back(kSynFlag | kAckFlag, 101);
  goes_out(1001, kAckFlag, 0x80000001);
  goes_out(1002, kSynFlag, 0xffffffff);  // takes it again, as nobody has answered
  for (const unsigned flags : {kFinFlag | kAckFlag, kRstFlag | kAckFlag}) comes_back(flags, 0x80000001);
  comes_back(kRstFlag, 0);
  comes_back(kSynFlag | kAckFlag, 0);
  goes_out(1002, kAckFlag, 0);
  goes_out(1003, kSynFlag, 7);  // "no_port"
  const Result result = through_nat(frames, "", "2000-2000");
  EXPECT_EQ(result.drop("nat.no_port"), 1u);
  EXPECT_EQ(result.statistics.at("nat.evicted"), 2u);
  EXPECT_EQ(result.at("back").size(), 5u);
}

// RFC 5382, REQ-5, and RFC 4787, REQ-5, unless arguments say otherwise.
TEST(FlowFlood, NatFlowsLastAsLongAsTheyShould) {
  struct Case {
    const char* table;
    uint64_t opening, established, udp;  // seconds
  };
  for (const Case& times : {Case{"", 240, 7440, 300}, Case{", TIMEOUT 9s", 9, 9, 9},
                            Case{", TIMEOUT 9s, TCP_TIMEOUT 8h, TCP_NODATA_TIMEOUT 20s", 20, 28800, 9}}) {
    // Each time once right before a flow is over, and once right behind that.
    std::vector<Frame> frames;
    std::vector<unsigned> wanted;
    uint64_t ms = 1;
    const auto goes_out = [&](int protocol, unsigned flags, uint64_t after_ms, unsigned port) {
      frames.push_back(packet(kInside, 1000, kOutside, 80, protocol, flags, ms += after_ms));
      wanted.push_back(port);
    };
    goes_out(17, 0, 0, 2000), goes_out(17, 0, times.udp * 1000, 2000), goes_out(17, 0, times.udp * 1000 + 1, 2001);
    goes_out(6, kSynFlag, 0, 2000), goes_out(6, kSynFlag, times.opening * 1000, 2000);
    goes_out(6, kSynFlag, times.opening * 1000 + 1, 2001);
    frames.push_back(packet(kOutside, 80, kPublic, 2001, 6, kSynFlag | kAckFlag, ms));
    goes_out(6, kAckFlag, 0, 2001), goes_out(6, kAckFlag, times.established * 1000, 2001);
    goes_out(6, kAckFlag, times.established * 1000 + 1, 2002);
    EXPECT_EQ(ports_of(through_nat(frames, times.table, "2000-2003")), wanted) << times.table;
  }
}

}  // namespace
}  // namespace heddle::test
