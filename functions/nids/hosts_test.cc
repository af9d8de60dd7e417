// What hosts take of TCP connections, and what they do not: neither hides anything from rules.

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "functions/nids/packets_for_test.h"
#include "functions/nids/streams.h"

namespace heddle::test {
namespace {

using namespace nids;

HEDDLE_ON_EVERY_BACKEND(NidsHostsTest);

constexpr uint32_t kBegin = 1001, kServerBegin = 5001;  // behind the SYNs

Frame sent_by(bool server, unsigned flags, uint32_t sequence, uint32_t acknowledgement, const std::string& payload,
              std::optional<uint32_t> timestamp = {}) {
  Frame frame = packet_with(6, payload, server ? 80 : 1000, server ? 1000 : 80, timestamp ? 8 : 5);
  Bytes& bytes = frame.bytes;
  if (server) std::swap_ranges(bytes.begin() + kL3 + 12, bytes.begin() + kL3 + 16, bytes.begin() + kL3 + 16);
  put_u32(bytes, kL3 + 24, sequence), put_u32(bytes, kL3 + 28, acknowledgement);
  bytes[kL3 + 33] = static_cast<uint8_t>(flags);
  if (timestamp) {
    bytes[kL3 + 40] = bytes[kL3 + 41] = 1, bytes[kL3 + 42] = 8, bytes[kL3 + 43] = 10;
    put_u32(bytes, kL3 + 44, *timestamp);
  }
  set_tcp_checksum(bytes);
  return frame;
}
Frame client(unsigned flags, uint32_t sequence, uint32_t acknowledgement = kServerBegin,
             const std::string& payload = "", std::optional<uint32_t> timestamp = {}) {
  return sent_by(false, flags, sequence, acknowledgement, payload, timestamp);
}
Frame server(unsigned flags, uint32_t sequence, uint32_t acknowledgement, const std::string& payload = "",
             std::optional<uint32_t> timestamp = {}) {
  return sent_by(true, flags, sequence, acknowledgement, payload, timestamp);
}

/** The segment with a window of so many bytes. */
Frame with_window(Frame frame, unsigned bytes) {
  put_u16(frame.bytes, kL3 + 34, bytes);
  set_tcp_checksum(frame.bytes);
  return frame;
}

using Frames = std::vector<Frame>;

Frames operator+(Frames one, const Frames& more) {
  one.insert(one.end(), more.begin(), more.end());
  return one;
}
/** The handshake, where both sides begin so. */
Frames handshake(uint32_t begin = kBegin, uint32_t server_begin = kServerBegin) {
  return {client(kSyn, begin - 1, 0), server(kSyn | kAck, server_begin - 1, begin), client(kAck, begin, server_begin)};
}
/** What rules look for, in two segments; the server acknowledges each. */
Frames mark(uint32_t begin = kBegin, uint32_t server_begin = kServerBegin) {
  return {client(kAck, begin, server_begin, "xxEVIL"), server(kAck, server_begin, begin + 6),
          client(kAck, begin + 6, server_begin, "MARKyy"), server(kAck, server_begin, begin + 12)};
}

struct Outcome {
  std::vector<size_t> alerts;  // the packets that have them
  std::map<std::string, uint64_t> statistics;
};

Outcome judge(const Backend& backend, Frames frames) {
  const TextFile file("hosts_rules"), eve("hosts_eve");
  std::ofstream(file.path) << "alert tcp any any -> any any (content:\"EVILMARK\"; sid:1;)\n";
  for (size_t i = 0; i < frames.size(); ++i) frames[i].timestamp_ns = (i + 1) * 1000;
  const Result result =
      run("TestSource(SETS \"l3 l4\") -> flows :: FlowTable -> ids :: NIDS(" + file.path +
              ", STREAM true); ids[0] -> out :: TestSink; ids[1] -> c :: NIDSConfirm(ids, FLOWS flows, EVE " +
              eve.path + ") -> TestSink;",
          backend, frames);
  Outcome outcome;
  for (const char* name :
       {"gaps", "unfollowed", "no_ack", "with_rst", "with_syn", "bad_ack", "old_timestamp", "beyond_window"})
    outcome.statistics[name] = result.statistics.at(std::string("c.") + name);
  std::ifstream in(eve.path);
  for (std::string line; std::getline(in, line);) {
    const std::string when = nlohmann::json::parse(line)["timestamp"];
    outcome.alerts.push_back(std::stoul(when.substr(20, 6)) - 1);
  }
  return outcome;
}

TEST_P(NidsHostsTest, NothingHidesWhatAHostTakes) {
  const Frames answer = {server(kSyn | kAck, kServerBegin - 1, kBegin), client(kAck, kBegin)};
  const std::string junk = "JUNKJUNK";
  const auto at = [](uint32_t time, Frames frames) {  // with timestamps from this one on
    for (Frame& frame : frames) {
      const bool by_server = frame.bytes[kL3 + 20] == 0 && frame.bytes[kL3 + 21] == 80;
      const auto number = [&](size_t place) {
        uint32_t value = 0;
        for (size_t k = 0; k < 4; ++k) value = value << 8 | frame.bytes[kL3 + place + k];
        return value;
      };
      frame = sent_by(by_server, frame.bytes[kL3 + 33], number(24), number(28),
                      std::string(frame.bytes.begin() + kL3 + 40, frame.bytes.end()), time++);
    }
    return frames;
  };
  struct Case {
    const char* what;
    Frames before;
    Frames mark;
    const char* counted = nullptr;
  };
  const std::vector<Case> cases = {
      {"nothing", handshake(), mark()},
      {"a SYN ahead", handshake() + Frames{client(kSyn, 1 << 30, 0)}, mark()},
      {"a SYN behind", handshake() + Frames{client(kSyn, kBegin - 50000, 0)}, mark()},
      {"two SYNs before the answer", Frames{client(kSyn, kBegin - 1, 0), client(kSyn, 1 << 30, 0)} + answer, mark()},
      {"two answers",
       {client(kSyn, kBegin - 1, 0), server(kSyn | kAck, kServerBegin - 1, kBegin), server(kSyn | kAck, 777777, kBegin),
        client(kAck, kBegin)},
       {server(kAck, kServerBegin, kBegin, "xxEVIL"), client(kAck, kBegin, kServerBegin + 6),
        server(kAck, kServerBegin + 6, kBegin, "MARKyy"), client(kAck, kBegin, kServerBegin + 12)}},
      {"payload in the SYN", Frames{client(kSyn, kBegin - 1, 0, junk)} + answer, mark(), "with_syn"},
      {"payload in a later SYN", handshake() + Frames{client(kSyn | kAck, kBegin - 1, kServerBegin, junk)}, mark(),
       "with_syn"},
      {"no ACK", handshake() + Frames{client(8, kBegin, 0, junk)}, mark(), "no_ack"},
      {"no flags", handshake() + Frames{client(0, kBegin, kServerBegin, junk)}, mark(), "no_ack"},
      {"an ACK of what was not sent", handshake() + Frames{client(kAck, kBegin, kServerBegin + 1, junk)}, mark(),
       "bad_ack"},
      {"an ACK from before the connection", handshake() + Frames{client(kAck, kBegin, kServerBegin - 100000, junk)},
       mark(), "bad_ack"},
      {"a RST with payload", handshake() + Frames{client(kRst | kAck, kBegin + 1, kServerBegin, junk)}, mark(),
       "with_rst"},
      {"an old timestamp", at(1000, handshake()) + Frames{client(kAck, kBegin, kServerBegin, junk, 10)},
       at(2000, mark()), "old_timestamp"},
      {"more than the window",
       Frames{client(kSyn, kBegin - 1, 0), with_window(server(kSyn | kAck, kServerBegin - 1, kBegin), 7),
              client(kAck, kBegin), client(kAck, kBegin, kServerBegin, junk), server(kAck, kServerBegin, kBegin)},
       mark(), "beyond_window"},
      {"three SYNs, and junk far ahead",
       Frames{client(kSyn, kBegin - 1, 0), client(kSyn, kBegin + 777777, 0), client(kSyn, kBegin + (1 << 28) - 1, 0),
              client(0, kBegin + (1 << 28) + 0x7ffffff0, 0), client(0, kBegin + (1 << 28) + 0xffffff00, 0)} +
           answer,
       mark()},
      {"junk without flags far ahead",
       handshake() + Frames{client(0, kBegin + 0x7ffffff0), client(0, kBegin + 0xffffff00)}, mark()},
      {"the ports again, with two SYNs and a number that was in use",
       handshake() + Frames{client(kAck, kBegin, kServerBegin, std::string(1400, 'q')),
                            server(kAck, kServerBegin, kBegin + 1400), client(kRst, kBegin + 1400, kServerBegin),
                            client(kSyn, kBegin + 9, 0), client(kSyn, kBegin + 500000, 0),
                            server(kSyn | kAck, 900000, kBegin + 10), client(kAck, kBegin + 10, 900001)},
       mark(kBegin + 10, 900001)},
      {"junk without ACK far ahead, before a connection that is not seen from its beginning",
       {client(0, kBegin + (1 << 20), 0)},
       mark()},
      {"before the answer", Frames{client(kSyn, kBegin - 1, 0), client(kAck, kBegin, 0, junk)} + answer, mark()},
      {"the ports again, after the server's RST",
       handshake() + Frames{client(kAck, kBegin, kServerBegin, "hello"), server(kRst, kServerBegin, kBegin + 5)} +
           handshake(900001, 800001),
       mark(900001, 800001)},
      {"the ports again, with lower numbers",
       handshake(900001) + Frames{client(kAck, 900001, kServerBegin, "hello"), server(kRst, kServerBegin, 900006)} +
           handshake(kBegin, 800001),
       mark(kBegin, 800001)},
      {"the ports again, without an end of the one before",
       handshake(900001) + Frames{client(kAck, 900001, kServerBegin, "hello")} + handshake(kBegin, 800001),
       mark(kBegin, 800001)},
      {"the ports again, after the client's RST",
       handshake() + Frames{server(kAck, kServerBegin, kBegin, "hello"), client(kRst, kBegin, kServerBegin + 5)} +
           handshake(900001, 80001),
       {server(kAck, 80001, 900001, "xxEVIL"), client(kAck, 900001, 80007), server(kAck, 80007, 900001, "MARKyy"),
        client(kAck, 900001, 80013)}},
  };
  for (const Case& one : cases) {
    const Outcome outcome = judge(GetParam(), one.before + one.mark);
    EXPECT_EQ(outcome.alerts, std::vector<size_t>{one.before.size() + 2}) << one.what;
    for (const auto& [name, count] : outcome.statistics)
      EXPECT_EQ(count, one.counted != nullptr && name == one.counted ? 1u : 0u) << one.what << ": " << name;
  }
}

// What was lost on the way here, but not to the server, is given up when the server acknowledges what is behind it.
TEST_P(NidsHostsTest, LooksBehindWhatIsLost) {
  const Frames before = handshake() + Frames{client(kAck, kBegin, kServerBegin, "hello ")};
  const Frames behind = {client(kAck, kBegin + 100, kServerBegin, "xxEVIL"),
                         client(kAck, kBegin + 106, kServerBegin, "MARKyy")};
  Outcome outcome = judge(GetParam(), before + behind + Frames{server(kAck, kServerBegin, kBegin + 112)});
  EXPECT_EQ(outcome.alerts, std::vector<size_t>{6});
  EXPECT_EQ(outcome.statistics.at("gaps"), 1u);
  // The server waits for it, and at the end what it waits with has been in no window.
  outcome = judge(GetParam(), before + behind + Frames{server(kAck, kServerBegin, kBegin + 6)});
  EXPECT_EQ(outcome.alerts, std::vector<size_t>{});
  EXPECT_EQ(outcome.statistics.at("gaps"), 0u);
  EXPECT_EQ(outcome.statistics.at("unfollowed"), 2u);
}

std::string text_of(const Window& window) { return {window.bytes.begin(), window.bytes.end()}; }

/** Both directions of a connection; 0 is the client's. */
struct Pair {
  Streams streams{1 << 20, 2};
  uint64_t names[2] = {};

  std::string take(int side, TcpSegment segment, const std::string& text = "") {
    segment.payload = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    return text_of(streams.take(names[side], segment, names[side] == 0 ? names[1 - side] : 0));
  }
  std::string acknowledged(int by) { return text_of(streams.acknowledged(names[by])); }
};
TcpSegment segment(uint32_t sequence, uint32_t acknowledgement, std::optional<uint32_t> timestamp = {}) {
  return {sequence, false, false, false, {}, true, acknowledgement, timestamp};
}
TcpSegment syn(uint32_t sequence, std::optional<uint32_t> acknowledgement = {},
               std::optional<uint32_t> timestamp = {}) {
  return {sequence, true, false, false, {}, acknowledgement.has_value(), acknowledgement.value_or(0), timestamp};
}

// Fast Open (RFC 7413): the server takes what is in the SYN, and says so.
TEST(Streams, TakesOfASynWhatIsAcknowledged) {
  Pair pair;
  EXPECT_EQ(pair.take(0, syn(99), "abc"), "");
  EXPECT_EQ(pair.take(1, syn(499, 103)), "");
  EXPECT_EQ(pair.acknowledged(1), "abc");
  EXPECT_EQ(pair.acknowledged(1), "");
  EXPECT_EQ(pair.take(0, segment(103, 500), "def"), "abcdef");
  // Where the server is not seen, the client says it by what it sends next.
  Pair alone;
  alone.take(0, syn(99), "abc");
  EXPECT_EQ(alone.take(0, segment(103, 500), "def"), "abcdef");
  alone.streams.end(alone.names[0]);
  EXPECT_EQ(alone.streams.blocks_used(), 0u);
}

// What the server has said was lost on the way here: what acknowledges it is in doubt until the server takes it.
TEST(Streams, WhatIsInDoubtWaits) {
  Pair pair;
  pair.take(0, syn(99)), pair.take(1, syn(499, 100));
  EXPECT_EQ(pair.take(0, segment(100, 900), "abc"), "");
  EXPECT_EQ(pair.streams.doubts()[static_cast<size_t>(Doubt::bad_ack)], 1u);
  EXPECT_EQ(pair.take(1, segment(900, 103), "server"), "");
  EXPECT_EQ(pair.acknowledged(1), "abc");
  EXPECT_EQ(pair.take(0, segment(103, 906), "def"), "abcdef");
  EXPECT_EQ(pair.acknowledged(0), "server");
  EXPECT_EQ(pair.streams.gaps(), 1u);
  // Those that belong together take a block.
  for (uint32_t n = 0; n < 2 * Streams::kMaxDoubtful; ++n) pair.take(0, segment(1106 + n, 2000), "x");
  EXPECT_EQ(pair.streams.blocks_used(), 3u);
  // Up to so many wait.
  for (uint32_t n = 1; n < Streams::kMaxDoubtful; ++n) pair.take(0, segment(1206 + 2 * n, 2000), "x");
  EXPECT_EQ(pair.streams.blocks_used(), 2 + Streams::kMaxDoubtful);
  EXPECT_EQ(pair.streams.waiting(), 0u);
  pair.streams.end(pair.names[0]), pair.streams.end(pair.names[1]);
  EXPECT_EQ(pair.streams.blocks_used(), 0u);
  EXPECT_EQ(pair.streams.unfollowed(), 0u);
}

// A clock that begins anew is not old for ever.
TEST(Streams, ATimestampThatIsAcknowledged) {
  Pair pair;
  pair.take(0, syn(99, {}, 0x70000000)), pair.take(1, syn(499, 100, 1));
  EXPECT_EQ(pair.take(0, segment(100, 500, 0x70000000), "a"), "a");
  EXPECT_EQ(pair.take(0, segment(101, 500, 5), "b"), "");
  pair.take(1, segment(500, 102));
  EXPECT_EQ(pair.acknowledged(1), "ab");
  EXPECT_EQ(pair.take(0, segment(102, 500, 6), "c"), "abc");
  // That of the SYN counts.
  Pair at_once;
  at_once.take(0, syn(99, {}, 1000)), at_once.take(1, syn(499, 100, 1));
  EXPECT_EQ(at_once.take(0, segment(100, 500, 999), "J"), "");
  EXPECT_EQ(at_once.take(0, segment(100, 500, 1000), "a"), "a");
}

// No option in both SYNs, no PAWS; nor is a timestamp remembered that the other side may not have taken yet.
TEST(Streams, TimestampsThatHostsDoNotAskFor) {
  for (const auto& [client, server] :
       std::vector<std::pair<std::optional<uint32_t>, std::optional<uint32_t>>>{{{}, {}}, {1000, {}}, {{}, 1000}}) {
    Pair pair;
    pair.take(0, syn(99, {}, client)), pair.take(1, syn(499, 100, server));
    EXPECT_EQ(pair.take(0, segment(100, 500, 1000), "a"), "a");
    EXPECT_EQ(pair.take(0, segment(101, 500, 999), "b"), "ab");
  }
  Pair pair;
  pair.take(0, syn(99, {}, 1)), pair.take(1, syn(499, 100, 1));
  EXPECT_EQ(pair.take(0, segment(100, 500, 3), "a"), "a");
  EXPECT_EQ(pair.take(0, segment(101, 500, 9000), "b"), "ab");
  EXPECT_EQ(pair.take(0, segment(102, 500, 4), "c"), "abc");
  EXPECT_EQ(pair.take(0, segment(103, 500, 2), "d"), "");
  Pair alone;
  alone.take(0, syn(99, {}, 1000));
  EXPECT_EQ(alone.take(0, segment(100, 500, 1000), "a"), "a");
  EXPECT_EQ(alone.take(0, segment(101, 500, 9), "b"), "ab");
}

// What the server has said comes here behind a burst that acknowledges it, or not at all: of the burst nothing is lost,
// nor is what comes in the place of what was followed for want of room.
TEST(Streams, ABurstInDoubt) {
  for (const uint32_t size : {1u, 700u, 1460u, 40000u}) {
    Pair pair;
    pair.take(0, syn(99)), pair.take(1, syn(499, 100));
    std::string all, followed;
    uint32_t acknowledgement = 505;
    for (uint32_t n = 0; n < 40; ++n) {
      const std::string text(size, static_cast<char>('a' + n % 26));
      acknowledgement += size == 1 ? 1 : 0;  // each in a block of its own
      TcpSegment next = segment(100 + n * size, acknowledgement);
      next.payload = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
      const Window window = pair.streams.take(pair.names[0], next);
      followed.append(window.bytes.begin() + window.fresh, window.bytes.end());
      all += text;
    }
    EXPECT_LE(pair.streams.blocks_used(), Streams::kMaxDoubtful + 2);
    pair.take(1, segment(500, 100 + 40 * size), "");
    for (Window window; !(window = pair.streams.acknowledged(pair.names[1])).bytes.empty();)
      followed.append(window.bytes.begin() + window.fresh, window.bytes.end());
    EXPECT_EQ(followed, all) << size;
    EXPECT_EQ(pair.streams.gaps(), 0u);
    EXPECT_EQ(pair.streams.unfollowed(), 0u);
    EXPECT_EQ(pair.streams.waiting(), 0u);
  }
  Pair pair;
  pair.take(0, syn(99)), pair.take(1, syn(499, 100));
  for (uint32_t n = 0; n < 2 * Streams::kMaxDoubtful; ++n) pair.take(0, segment(100 + n, 900 + n), "J");
  EXPECT_EQ(pair.take(0, segment(100, 500), "real"), "real");
}

TEST(Streams, WhatIsInDoubtAndAcknowledgedInPart) {
  Pair pair;
  pair.take(0, syn(99)), pair.take(1, syn(499, 100));
  EXPECT_EQ(pair.take(0, segment(100, 900), "abcdef"), "");
  pair.take(1, segment(500, 103));
  EXPECT_EQ(pair.acknowledged(1), "abc");
  pair.take(1, segment(500, 106));
  EXPECT_EQ(pair.acknowledged(1), "abcdef");
  EXPECT_EQ(pair.streams.gaps(), 0u);
}

// SYNs with payload do not take the room of what waits for its turn.
TEST(Streams, DoubtsLeaveRoom) {
  constexpr uint32_t kOthers = 500;
  Streams streams(1 << 20, kOthers + 1);
  const auto take = [&](uint64_t& name, TcpSegment segment, const std::string& text) {
    segment.payload = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    return text_of(streams.take(name, segment));
  };
  uint64_t name = 0, others[kOthers] = {};
  take(name, syn(99), ""), take(name, segment(100, 1), "a");
  for (uint64_t& other : others) take(other, syn(7), "x");
  EXPECT_EQ(take(name, segment(102, 1), "c"), "");
  EXPECT_EQ(take(name, segment(101, 1), "b"), "abc");
  EXPECT_EQ(streams.gaps(), 0u);
}

// A direction that has begun with something else than what it says, and not with a SYN.
TEST(Streams, BeginsAnewWhereTheOtherSideIs) {
  Pair pair;
  pair.take(0, segment(1 << 20, 500), "J");
  pair.take(1, segment(500, 100), "");
  EXPECT_EQ(pair.take(0, segment(100, 500), "abc"), "abc");
  pair.take(1, segment(500, 103), "");
  EXPECT_EQ(pair.take(0, segment(103, 500), "def"), "abcdef");
  uint64_t name = 0;
  TcpSegment none = segment(1, 0);
  none.ack = false;
  pair.streams.take(name, none);
  EXPECT_EQ(name, 0u);
}

// What the host had kept is looked into on from there when the one byte before it has come.
TEST(Streams, GoesOnBehindWhatTheHostHad) {
  Pair pair;
  pair.take(0, syn(99)), pair.take(1, syn(499, 100));
  const std::string text(Streams::kWindowBytes / 2 + 1, 'b');  // two find no room in a block
  const uint32_t end = 101 + 2 * Streams::kMaxHeld * static_cast<uint32_t>(text.size());
  for (uint32_t at = 101; at != end; at += static_cast<uint32_t>(text.size())) {
    pair.take(0, segment(at, 500), text);
    pair.take(1, segment(500, 100), "");
  }
  EXPECT_EQ(pair.take(0, segment(100, 500), "a"), "a");
  pair.take(1, segment(500, end), "");
  EXPECT_EQ(pair.acknowledged(1), "");
  EXPECT_EQ(pair.take(0, segment(end, 500), "c"), std::string(Streams::kWindowBytes, 'b') + "c");
  EXPECT_EQ(pair.streams.gaps(), 1u);
  pair.streams.end(pair.names[0]), pair.streams.end(pair.names[1]);
  EXPECT_EQ(pair.streams.blocks_used(), 0u);
}

// As long as the other side asks for what is missing it is not forgotten.
TEST(Streams, GoesBackToWhatIsAskedFor) {
  Pair pair;
  pair.take(0, syn(99)), pair.take(1, syn(499, 100));
  const std::string text(Streams::kWindowBytes, 'J');
  for (uint32_t at = 300000; at < 300000 + 3 * Streams::kRegretBytes; at += Streams::kWindowBytes) {
    pair.take(0, segment(at, 500), text);
    pair.take(1, segment(500, 100), "");
    EXPECT_EQ(pair.acknowledged(1), "");
  }
  EXPECT_EQ(pair.take(0, segment(100, 500), "abc"), "abc");
}

// Windows are those of the other side however much has been sent, and a segment that is too long for them still says
// how far the other side may send.
TEST(Streams, WindowsGoOnWithTheConnection) {
  constexpr uint32_t kRoom = 60000;
  const auto with_room = [](TcpSegment segment, uint32_t room) {
    segment.window = static_cast<uint16_t>(room);
    return segment;
  };
  const auto beyond = [](const Pair& pair) { return pair.streams.doubts()[static_cast<size_t>(Doubt::beyond_window)]; };
  Pair pair;
  pair.take(0, with_room(syn(99), kRoom)), pair.take(1, with_room(syn(499, 100), kRoom));
  const std::string text(kRoom, 'a');
  uint32_t next = 100;
  for (uint64_t sent = 0; sent < uint64_t{5} << 30; sent += kRoom, next += kRoom) {  // more than all sequence numbers
    TcpSegment data = segment(next, 500);
    data.payload = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    const Window window = pair.streams.take(pair.names[0], data);
    ASSERT_EQ(window.bytes.size() - window.fresh, kRoom);
    pair.take(1, with_room(segment(500, next + kRoom), kRoom));
  }
  EXPECT_EQ(beyond(pair), 0u);
  // Both send, acknowledge by what they send, and are not seen for more than their windows.
  uint32_t back = 500;
  std::string some(2000, 'b'), last;
  for (int round = 0; round < 100; ++round, next += 2000, back += 2000) {
    if (20 <= round && round < 60) continue;
    last = pair.take(0, with_room(segment(next, back), 4000), some), pair.acknowledged(0);
    pair.take(1, with_room(segment(back, next + 2000), 4000), some), pair.acknowledged(1);
  }
  EXPECT_EQ(last.size(), Streams::kWindowBytes + some.size());
  EXPECT_GE(beyond(pair), 1u);
  EXPECT_LE(beyond(pair), 4u);
}

// A FIN that comes with more than the window is that of the connection if it is acknowledged.
TEST(Streams, EndsBeyondTheWindow) {
  Pair pair;
  TcpSegment answer = syn(499, 100), fin = segment(100, 500);
  answer.window = 50, fin.fin = true;
  pair.take(0, syn(99)), pair.take(1, answer);
  const std::string text(100, 'a');
  EXPECT_EQ(pair.take(0, fin, text), "");
  EXPECT_FALSE(pair.streams.closed(pair.names[0]));
  pair.take(1, segment(500, 201));
  EXPECT_EQ(pair.acknowledged(1), text);
  EXPECT_EQ(pair.acknowledged(1), "");
  EXPECT_EQ(pair.streams.gaps(), 0u);
  EXPECT_TRUE(pair.streams.closed(pair.names[0]));
}

// Against a host that takes what is in order and answers, and an observer who misses some: of each byte that both have
// the observer says the same, whatever else comes that no host takes.
TEST(Streams, FollowsWhatAHostTakes) {
  auto random = random_for("what a host takes");
  uint64_t lost = 0, junk = 0;
  for (int round = 0; round < tries(1000, 20000); ++round) {
    Pair pair;
    const auto begin = static_cast<uint32_t>(random()), server_begin = static_cast<uint32_t>(random());
    const bool loses = random() % 2 == 0;
    std::string text(200 + random() % 3000, '\0'), followed(text.size(), '\0'), seen(text.size(), '\0');
    for (char& c : text) c = static_cast<char>(1 + random() % 100);
    uint32_t now = 1000, taken = 0;  // bytes that the host has in order
    std::map<uint32_t, uint32_t> early;
    const auto note = [&](uint64_t end, const Window& window) {
      for (size_t i = window.fresh; i < window.bytes.size(); ++i)
        followed.at(end - window.bytes.size() + i) = static_cast<char>(window.bytes[i]);
    };
    const auto take = [&](int side, TcpSegment segment, const std::string& payload) {
      segment.payload = {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
      Window window = pair.streams.take(pair.names[side], segment, pair.names[side] == 0 ? pair.names[1 - side] : 0);
      if (side == 0) note(window.offset + window.bytes.size(), window);
      while (!(window = pair.streams.acknowledged(pair.names[side])).bytes.empty())
        if (side == 1) note(window.offset + window.bytes.size(), window);
    };
    const auto bad = [&] {  // what no host takes, in place of what comes
      const std::string payload(1 + random() % 300, 'J');
      TcpSegment segment = nids::TcpSegment{
          begin + taken + static_cast<uint32_t>(random() % 50), false, false, false, {}, true, server_begin, now};
      const auto kind = random() % 7;
      if (kind == 0) segment.ack = false;
      if (kind == 1) segment.rst = true, segment.sequence += text.size();
      if (kind == 2) segment.syn = true;
      if (kind == 3) segment.acknowledgement += 1 + static_cast<uint32_t>(random() % 100000);
      if (kind == 4) segment.acknowledgement -= 1 + static_cast<uint32_t>(random() % 100000);
      if (kind == 5) segment.timestamp = 999 - static_cast<uint32_t>(random() % 500);
      if (kind == 6) segment.sequence = begin + static_cast<uint32_t>(text.size() - random() % payload.size());
      ++junk;
      take(0, segment, payload);
    };
    const auto with_room = [&](TcpSegment segment) {  // the host has room for the text, and for no byte more
      segment.window = static_cast<uint16_t>(text.size() - taken);
      return segment;
    };
    take(0, syn(begin - 1, {}, now), ""), take(1, with_room(syn(server_begin - 1, begin, now)), "");
    take(0, segment(begin, server_begin, now), "");
    std::vector<std::pair<uint32_t, uint32_t>> pieces;
    for (uint32_t at = 0; at < text.size();) {
      const uint32_t to = std::min(at + 1 + static_cast<uint32_t>(random() % 300), static_cast<uint32_t>(text.size()));
      pieces.emplace_back(at, to), at = to;
    }
    for (size_t k = 1; k < pieces.size(); ++k)
      if (random() % 4 == 0) std::swap(pieces[k - 1], pieces[k]);
    for (size_t k = 0; k < pieces.size(); ++k) {
      const auto [at, to] = pieces[k];
      // The last one is seen, so that nothing is acknowledged that the client has not been seen to send.
      const bool is_lost = loses && k + 2 < pieces.size() && random() % 5 == 0;
      if (is_lost) {
        ++lost;
      } else {
        if (!loses && random() % 2 == 0) bad();
        take(0, segment(begin + at, server_begin, ++now), text.substr(at, to - at));
        std::copy(text.begin() + at, text.begin() + to, seen.begin() + at);
      }
      early[at] = to;
      for (auto next = early.find(taken); next != early.end(); next = early.find(taken)) taken = next->second;
      if (random() % 2 == 0 || k + 1 == pieces.size()) take(1, with_room(segment(server_begin, begin + taken)), "");
    }
    ASSERT_EQ(followed, seen) << "round " << round;
    ASSERT_EQ(pair.streams.waiting(), 0u);
    ASSERT_TRUE(loses || pair.streams.gaps() == 0);
    pair.streams.end(pair.names[0]), pair.streams.end(pair.names[1]);
    ASSERT_EQ(pair.streams.blocks_used(), 0u);
  }
  EXPECT_GT(lost, 100u);
  EXPECT_GT(junk, 100u);
}

}  // namespace
}  // namespace heddle::test
