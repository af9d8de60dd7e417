// Rules over TCP connections that are cut, mixed and repeated in all ways, against an oracle that keeps every byte.

#include "functions/nids/streams.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "functions/nids/packets_for_test.h"

namespace heddle::test {
namespace {

using namespace nids;

HEDDLE_ON_EVERY_BACKEND(NidsStreamTest);

constexpr unsigned kSynFlag = 2, kFinFlag = 1;

Frame segment(unsigned port, uint32_t sequence, unsigned flags, const std::string& payload) {
  Frame frame = packet_with(6, payload, port, 80);
  put_u32(frame.bytes, kL3 + 24, sequence);
  frame.bytes[kL3 + 33] = static_cast<uint8_t>(flags);
  set_tcp_checksum(frame.bytes);
  return frame;
}

bool reads_streams(const OracleRule& rule) {
  bool some = false, ends = false;
  for (const OracleContent& content : rule.contents) {
    some |= !content.negated;
    ends |= content.at_end || (content.probe.option == "isdataat" && content.probe.negated) ||
            content.probe.from == "from_end";
  }
  return (rule.protocol == "tcp" || rule.protocol == "ip") && rule.size_below < 0 && rule.fields.empty() && some &&
         !ends && !rule.contents[0].relative;
}

/** A direction of a connection as the one who receives it sees it. */
struct Direction {
  std::map<int, char> bytes;
  int next = 0;

  /** Takes bytes from `at` on; whether `rule` matches in what is in order then, and was not before. */
  void take(int at, const std::string& payload) {
    old_next_ = next;
    for (const char c : payload) bytes.emplace(at++, c);
    while (bytes.contains(next)) ++next;
    base_ = std::max(0, old_next_ - static_cast<int>(Streams::kWindowBytes));
    text_.clear();
    for (auto byte = bytes.find(base_); byte != bytes.end() && byte->first < next; ++byte) text_ += byte->second;
  }
  bool matches(const OracleRule& rule) const {
    if (next == old_next_ || !reads_streams(rule)) return false;
    return oracle_contents(rule, text_, base_, old_next_ - base_, 0, 0, false, {});
  }

 private:
  int old_next_ = 0, base_ = 0;
  std::string text_;  ///< In order from base_ on: what matches() searches.
};

struct Piece {
  size_t connection;
  int at;
  std::string payload;
  unsigned flags = 16;
};

/** Connections whose bytes have pieces of the rules' contents in them, cut anywhere, some of it twice, and mixed. */
std::vector<Piece> pieces_of(std::mt19937& random, const std::vector<OracleRule>& rules, size_t connections) {
  std::vector<Piece> all;
  for (size_t c = 0; c < connections; ++c) {
    std::string text(500 + random() % 6000, 'x');
    for (size_t n = 3 + random() % 12; n > 0; --n) {
      // A rule's contents one behind the other, as they often match.
      size_t at = random() % text.size();
      for (const OracleContent& content : rules[random() % rules.size()].contents) {
        at += random() % 12;
        if (at + content.bytes.size() <= text.size()) text.replace(at, content.bytes.size(), content.bytes);
        at += content.bytes.size();
      }
    }
    all.push_back({c, -1, "", kSynFlag});
    const size_t longest = 1 + random() % 700;
    for (size_t at = 0; at < text.size();) {
      const size_t length = 1 + random() % longest;
      all.push_back({c, static_cast<int>(at), text.substr(at, length)});
      if (random() % 6 == 0) all.push_back({c, static_cast<int>(at), text.substr(at, 1 + random() % (2 * length))});
      at += random() % 5 == 0 ? 1 + random() % length : length;
    }
    if (random() % 2 == 0) all.push_back({c, static_cast<int>(text.size()), "", kFinFlag | 16});
  }
  // Near ones change places; the first of each connection stays before its others.
  std::vector<std::pair<size_t, size_t>> order;
  std::vector<size_t> count(connections);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t nth = count[all[i].connection]++;
    order.emplace_back(nth == 0 ? 0 : 4 + nth * 4 + random() % 24, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<Piece> mixed;
  for (const auto& [place, i] : order) mixed.push_back(all[i]);
  return mixed;
}

std::string chain(const TextFile& rules, const TextFile& eve) {
  return "TestSource(SETS \"l3 l4\") -> flows :: FlowTable -> ids :: NIDS(" + rules.path +
         ", STREAM true); ids[0] -> clean :: TestSink; ids[1] -> c :: NIDSConfirm(ids, FLOWS flows, EVE " + eve.path +
         ") -> passed :: TestSink; c[1] -> blocked :: TestSink;";
}

std::vector<std::pair<size_t, unsigned>> alerts_in(const TextFile& eve) {
  std::vector<std::pair<size_t, unsigned>> alerts;
  std::ifstream in(eve.path);
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    const std::string when = json["timestamp"];
    alerts.emplace_back(std::stoul(when.substr(20, 6)) - 1, json["alert"]["signature_id"]);
  }
  return alerts;
}

TEST_P(NidsStreamTest, FindsWhatTheOracleFinds) {
  auto random = random_for("streams");
  const TextFile file("stream_rules"), eve("stream_eve");
  size_t across = 0, looking = 0;
  const int rounds = tries(15, 300);
  for (int round = 0; round < rounds; ++round) {
    std::vector<OracleRule> rules;
    while (rules.size() < 40) {
      OracleRule rule = random_rule(random, static_cast<unsigned>(rules.size()) + 1);
      rule.action = "alert";
      if (rule.protocol == "udp" || rule.protocol == "icmp") rule.protocol = "tcp";
      if (!rule.destination_ports.items.empty()) rule.destination_ports.items = {{80, 80}};
      rule.source_ports.items.clear();
      if (rules.size() % 4 != 0) rule.fields.clear();  // of packets
      rules.push_back(rule);
    }
    // Those that look at bytes behind what they search.
    while (rules.size() < 80) {
      OracleRule rule;
      rule.sid = static_cast<unsigned>(rules.size()) + 1;
      int variables = 0;
      for (int k = 0; k < 2; ++k) {
        rule.contents.push_back({.bytes = random_bytes(random, 3), .relative = k > 0});
        rule.contents.push_back(random_probe(random, variables));
        if (random() % 3 != 0) rule.contents.back().relative = true;
      }
      rules.push_back(rule);
    }
    file.write(rules);
    const auto pieces = pieces_of(random, rules, 5);
    std::vector<Frame> frames;
    std::vector<Direction> directions(5);
    std::vector<std::pair<size_t, unsigned>> wanted;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const Piece& piece = pieces[i];
      // Sequence numbers that go round.
      const uint32_t sequence =
          0xfffffe00u + static_cast<uint32_t>(piece.connection * 100) + static_cast<uint32_t>(piece.at);
      frames.push_back(segment(1000 + static_cast<unsigned>(piece.connection), sequence, piece.flags, piece.payload));
      frames.back().timestamp_ns = (i + 1) * 1000;
      Direction& direction = directions[piece.connection];
      direction.take(std::max(piece.at, 0), piece.payload);
      const OraclePacket packet = oracle_packet(frames.back());
      for (const OracleRule& rule : rules) {
        const bool alone = oracle_matches(rule, packet);
        const bool together = !alone && direction.matches(rule);
        if (alone || together) wanted.emplace_back(i, rule.sid);
        across += together, looking += rule.sid > 40 && together;
      }
    }
    const Result result = run(chain(file, eve), GetParam(), frames, {.batches = {1, 40, 7}});
    EXPECT_EQ(alerts_in(eve), wanted) << "round " << round;
    EXPECT_EQ(result.at("passed").size(), frames.size());
    EXPECT_EQ(result.statistics.at("c.gaps"), 0u);
    if (HasFailure()) return;
  }
  EXPECT_GT(across, 4 * static_cast<size_t>(rounds));
  EXPECT_GT(looking, static_cast<size_t>(rounds));
}

// What a rule asks for comes in three segments, the last of them first: the one that closes the gap is stopped.
TEST_P(NidsStreamTest, StopsTheLastMissingSegment) {
  const TextFile file("stream_drop"), eve("stream_drop_eve");
  std::ofstream(file.path)
      << "drop tcp any any -> any any (content:\"an evil word\"; pcre:\"/word[0-9]+!/R\"; sid:1;)\n"
         "alert tcp any any -> any any (content:\"first\"; depth:5; sid:2;)\n"
         "alert tcp any any -> any any (pcre:\"/^first/\"; sid:3;)\n";
  std::vector<Frame> frames = {segment(1, 99, kSynFlag, ""), segment(1, 100, 16, "fir"), segment(1, 116, 16, "rd wo"),
                               segment(1, 121, 16, "rd77! first"), segment(1, 103, 16, "st an evil wo")};
  for (size_t i = 0; i < frames.size(); ++i) frames[i].timestamp_ns = (i + 1) * 1000;
  const Result result = run(chain(file, eve), GetParam(), frames);
  ASSERT_EQ(result.at("blocked").size(), 1u);
  EXPECT_EQ(result.at("blocked")[0].serial, 4);
  EXPECT_EQ(alerts_in(eve), (std::vector<std::pair<size_t, unsigned>>{{4, 1}, {4, 2}, {4, 3}}));
}

// What a rule has stopped is sent again, as a sender does that has heard nothing: it, and what follows, is stopped as
// well, and alerted once. The next connection is free.
TEST_P(NidsStreamTest, WhatIsStoppedStaysStopped) {
  const TextFile file("stream_again"), eve("stream_again_eve");
  std::ofstream(file.path) << "drop tcp any any -> any any (content:\"an evil word\"; sid:1;)\n";
  std::vector<Frame> frames = {
      segment(1, 99, kSynFlag, ""), segment(1, 100, 16, "an evil"), segment(1, 107, 16, " word"),
      segment(1, 107, 16, " word"), segment(1, 112, 16, "more"),    segment(1, 116, kFinFlag | 16, ""),
      segment(1, 107, 16, " wo"),   segment(1, 9000, kSynFlag, ""), segment(1, 9001, 16, "good")};
  for (size_t i = 0; i < frames.size(); ++i) frames[i].timestamp_ns = (i + 1) * 1000;
  const Result result = run(chain(file, eve), GetParam(), frames);
  std::vector<int64_t> blocked;
  for (const Received& packet : result.at("blocked")) blocked.push_back(packet.serial);
  EXPECT_EQ(blocked, (std::vector<int64_t>{2, 3, 4, 6}));
  EXPECT_EQ(alerts_in(eve), (std::vector<std::pair<size_t, unsigned>>{{2, 1}}));
}

// What no host takes hides nothing: a SYN, a FIN and segments far ahead in the middle of a connection.
TEST_P(NidsStreamTest, WhatNoHostTakesHidesNothing) {
  const TextFile file("stream_hide"), eve("stream_hide_eve");
  std::ofstream(file.path) << "alert tcp any any -> any any (content:\"an evil word\"; sid:1;)\n";
  const auto alerts_with = [&](const std::vector<Frame>& between) {
    std::vector<Frame> frames = {segment(1, 99, kSynFlag, ""), segment(1, 100, 16, "an evil")};
    frames.insert(frames.end(), between.begin(), between.end());
    frames.push_back(segment(1, 107, 16, " word"));
    for (size_t i = 0; i < frames.size(); ++i) frames[i].timestamp_ns = (i + 1) * 1000;
    run(chain(file, eve), GetParam(), frames);
    return alerts_in(eve);
  };
  const auto found = [](size_t between) { return std::vector<std::pair<size_t, unsigned>>{{between + 2, 1}}; };
  EXPECT_EQ(alerts_with({}), found(0));
  EXPECT_EQ(alerts_with({segment(1, 1000000000, kSynFlag, "")}), found(1));
  EXPECT_EQ(alerts_with({segment(1, 1000000000, kSynFlag, ""), segment(1, 1000000001, 16, "x")}), found(2));
  EXPECT_EQ(alerts_with({segment(1, 107, kFinFlag | 16, "")}), found(1));
  EXPECT_EQ(alerts_with({segment(1, 500, 4, "")}), found(1));  // a RST that is out of order
  Frame wrong_checksum = segment(1, 107, 16, "xxxxx");
  wrong_checksum.bytes.back() ^= 1;
  EXPECT_EQ(alerts_with({wrong_checksum}), found(1));
  for (const uint32_t ahead : {1000u, 100000u, 1000000000u}) {
    std::vector<Frame> many;
    for (uint32_t n = 0; n < 70; ++n) many.push_back(segment(1, 107 + ahead + 2 * n, 16, "x"));
    EXPECT_EQ(alerts_with(many), found(many.size())) << ahead;
  }
}

TEST(NidsStream, NamesWhatIsMissing) {
  const TextFile file("stream_missing");
  std::ofstream(file.path) << "alert tcp any any -> any any (content:\"a\"; sid:1;)\n";
  const auto of = [&](const std::string& stream, const std::string& confirm) {
    return mistakes("TestSource(SETS \"l3 l4\") -> flows :: FlowTable -> ids :: NIDS(" + file.path + stream +
                    "); ids[0] -> TestSink; ids[1] -> NIDSConfirm(ids" + confirm + ") -> TestSink;");
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != text.npos; };
  EXPECT_EQ(of(", STREAM true", ", FLOWS flows"), "");
  EXPECT_TRUE(has(of(", STREAM true", ""), "put a FlowTable before it, and name it: FLOWS NAME"));
  EXPECT_TRUE(has(of("", ", FLOWS flows"), "FLOWS is for a NIDS with STREAM true"));
  EXPECT_TRUE(has(of("", ", MEMORY 9"), "MEMORY is for a NIDS with STREAM true"));
  EXPECT_TRUE(has(of(", STREAM true", ", FLOWS ids"), "'ids' is not a FlowTable of this chain"));
  EXPECT_TRUE(has(of(", STREAM true", ", FLOWS flows, MEMORY 0"), "MEMORY"));
  EXPECT_TRUE(has(mistakes("TestSource(SETS \"l3 l4\") -> flows :: FlowTable -> ids :: NIDS(" + file.path +
                           ", STREAM true); ids[0] -> TestSink; ids[1] -> late :: FlowTable -> NIDSConfirm(ids, "
                           "FLOWS flows) -> TestSink;"),
                  "the flow annotation of its packets is set by 'late', not by 'flows'; give it FLOWS 'late', or put "
                  "'flows' between the two"));
}

std::string text_of(const Window& window) { return {window.bytes.begin(), window.bytes.end()}; }

TcpSegment data(uint32_t sequence, const std::string& text, bool syn = false, bool fin = false, bool rst = false) {
  return {sequence, syn, fin, rst, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}};
}

TEST(Streams, WhatCameFirstCounts) {
  Streams streams(1 << 20, 10);
  uint64_t word = 0;
  const std::string a = "abcdef", b = "XXXXghi", c = "klm", d = "YYYYYYYj";
  EXPECT_EQ(text_of(streams.take(word, data(0xfffffffd, a))), "abcdef");
  Window window = streams.take(word, data(0xffffffff, b));  // two known, four others in place of what is known
  EXPECT_EQ(text_of(window), "abcdefghi");
  EXPECT_EQ(window.fresh, 6u);
  EXPECT_EQ(window.offset, 0u);
  EXPECT_EQ(text_of(streams.take(word, data(7, c))), "");
  window = streams.take(word, data(0xffffffff, d));
  EXPECT_EQ(text_of(window), "abcdefghijklm");
  EXPECT_EQ(window.fresh, 9u);
  EXPECT_EQ(text_of(streams.take(word, data(0xfffffffd, a))), "");
  EXPECT_EQ(streams.gaps(), 0u);
  streams.end(word);
  EXPECT_EQ(streams.blocks_used(), 0u);
}

TEST(Streams, GivesGapsUpAndMemoryBack) {
  Streams streams(300 * 2048, 2);
  uint64_t word = 0, other = 0;
  const std::string text(1000, 'a'), late(10, 'b');
  streams.take(word, data(0, "0123456789"));
  // The bytes from 10 on never come.
  uint64_t seen = 0;
  for (uint32_t n = 0; n < 200; ++n) {
    const Window window = streams.take(word, data(20 + n * 1000, text));
    if (window.bytes.empty()) continue;
    if (seen == 0) {
      EXPECT_EQ(window.fresh, 0u);
      EXPECT_EQ(window.offset, 20u);
    }
    seen += window.bytes.size() - window.fresh;
  }
  EXPECT_EQ(seen, 200u * 1000);
  EXPECT_EQ(streams.gaps(), 1u);
  EXPECT_EQ(streams.blocks_used(), 2u);  // here, and before the gap
  // They come after all: on from there.
  const Window window = streams.take(word, data(10, late));
  EXPECT_EQ(text_of(window), "0123456789" + late);
  EXPECT_EQ(window.offset, 0u);
  EXPECT_EQ(streams.blocks_used(), 1u);

  // Of what is too long to be kept before its turn a part is, and what comes behind it is seen.
  const std::string huge(65000, 'c');
  EXPECT_EQ(streams.take(other, data(0, "x")).bytes.size(), 1u);
  for (uint32_t n = 0; n < 40; ++n) streams.take(other, data(100 + n * 1500, text));
  streams.take(other, data(65000, huge));
  uint32_t behind = 130000;
  while (streams.take(other, data(behind, late)).bytes.empty()) behind += 10;
  EXPECT_LT(behind, 131000u);
  streams.end(word), streams.end(other);
  EXPECT_EQ(streams.blocks_used(), 0u);
}

// A gap is forgotten when the direction has gone on for long.
TEST(Streams, DoesNotGoBackForEver) {
  Streams streams(1 << 20, 1);
  uint64_t word = 0;
  const std::string text(Streams::kWindowBytes, 'a');
  streams.take(word, data(0, "0123456789"));
  uint32_t at = 20;
  for (uint64_t followed = 0; followed <= Streams::kRegretBytes + Streams::kMaxAhead;) {
    const Window window = streams.take(word, data(at, text));
    followed += window.bytes.size() - window.fresh;
    at += Streams::kWindowBytes;
  }
  EXPECT_EQ(streams.blocks_used(), 1u);
  EXPECT_TRUE(streams.take(word, data(10, "b")).bytes.empty());
  EXPECT_EQ(streams.gaps(), 1u);
}

TEST(Streams, TheSamePortsAgain) {
  Streams streams(1 << 20, 1);
  uint64_t word = 0;
  streams.take(word, data(50, "", true));
  streams.take(word, data(99, "", true));  // no byte has come: another number will do
  EXPECT_EQ(text_of(streams.take(word, data(100, "one"))), "one");
  streams.take(word, data(99, "", true));    // once more
  streams.take(word, data(5000, "", true));  // hosts ignore it
  EXPECT_EQ(text_of(streams.take(word, data(103, "two"))), "onetwo");
  streams.set_verdict(word, 7);
  streams.take(word, data(106, "", false, true));
  EXPECT_EQ(streams.verdict(word), 7);
  streams.take(word, data(5000, "", true));
  EXPECT_EQ(streams.verdict(word), 0);
  const Window window = streams.take(word, data(5001, "three"));
  EXPECT_EQ(text_of(window), "three");
  EXPECT_EQ(window.offset, 0u);
  streams.take(word, data(5000, "", false, false, true));  // not in order
  streams.take(word, data(8000, "", true));
  EXPECT_EQ(text_of(streams.take(word, data(5006, "!"))), "three!");
  streams.take(word, data(5007, "", false, false, true));
  streams.take(word, data(8000, "", true));
  EXPECT_EQ(text_of(streams.take(word, data(8001, "four"))), "four");
}

// A FIN may come before its turn.
TEST(Streams, AFinThatWaits) {
  Streams streams(1 << 20, 1);
  uint64_t word = 0;
  streams.take(word, data(0, "a"));
  streams.take(word, data(3, "c", false, true));
  streams.take(word, data(100, "", true));
  EXPECT_EQ(text_of(streams.take(word, data(1, "bb"))), "abbc");
  streams.take(word, data(100, "", true));
  EXPECT_EQ(text_of(streams.take(word, data(101, "d"))), "d");
}

TEST(Streams, WithoutMemoryNothingIsFollowedButInPlaceOfWhatHasEnded) {
  Streams streams(2048, 3);
  uint64_t one = 0, two = 0;
  EXPECT_EQ(text_of(streams.take(one, data(0, "a"))), "a");
  EXPECT_EQ(text_of(streams.take(two, data(0, "b"))), "b");  // seen, but not kept
  EXPECT_EQ(streams.unfollowed(), 1u);
  EXPECT_EQ(text_of(streams.take(two, data(1, "c"))), "c");
  streams.take(one, data(1, "", false, true));
  EXPECT_EQ(text_of(streams.take(two, data(2, "d"))), "d");
  EXPECT_EQ(text_of(streams.take(two, data(3, "e"))), "de");
  EXPECT_EQ(streams.unfollowed(), 2u);
  EXPECT_EQ(streams.blocks_used(), 1u);
  streams.end(one), streams.end(two);
  EXPECT_EQ(streams.blocks_used(), 0u);
}

TEST(Streams, WithoutNamesNothingIsFollowed) {
  Streams streams(1 << 20, 1);
  uint64_t one = 0, two = 0;
  streams.take(one, data(0, "a"));
  EXPECT_TRUE(streams.take(two, data(0, "b")).bytes.empty());
  EXPECT_EQ(two, 0u);
  EXPECT_EQ(streams.unfollowed(), 1u);
}

// Whatever comes: a window's bytes are those of its direction, one behind the other, and all blocks come back.
TEST(Streams, AnySegments) {
  auto random = random_for("any segments");
  constexpr size_t kDirections = 20, kMax = 65407;
  Streams streams(40 * 2048, kDirections);
  std::vector<uint64_t> words(kDirections);
  // Byte number n of direction d is n * 167 + d * 13.
  std::string text(kMax + 256, '\0');
  for (size_t n = 0; n < text.size(); ++n) text[n] = static_cast<char>(n * 167);
  const auto byte = [](uint8_t one, uint32_t behind) { return static_cast<uint8_t>(one + behind * 167); };
  std::string payload;
  uint64_t windows = 0;
  for (int n = 0; n < tries(100000, 5000000); ++n) {
    const size_t direction = random() % words.size();
    uint64_t& word = words[direction];
    const uint32_t sequence =
        random() % 8 == 0 ? static_cast<uint32_t>(random()) : static_cast<uint32_t>(random() % 20000) - 9000;
    const size_t length = random() % 50 == 0 ? random() % kMax : random() % 1500;
    const bool syn = random() % 20 == 0;
    payload = text.substr((sequence + syn) % 256, length);
    for (char& c : payload) c = static_cast<char>(c + static_cast<char>(direction * 13));
    const Window window = streams.take(word, data(sequence, payload, syn, random() % 20 == 0, random() % 20 == 0));
    windows += window.bytes.empty() ? 0 : 1;
    ASSERT_LE(window.fresh, Streams::kWindowBytes);
    ASSERT_TRUE(window.bytes.empty() || window.fresh < window.bytes.size());
    for (uint32_t i = 0; i < window.bytes.size(); ++i) ASSERT_EQ(window.bytes[i], byte(window.bytes[0], i)) << n;
    if (random() % 30 == 0) streams.end(std::exchange(word, 0));
    ASSERT_LE(streams.blocks_used(), 40u);
  }
  EXPECT_GT(windows, 1000u);
  for (const uint64_t word : words) streams.end(word);
  EXPECT_EQ(streams.blocks_used(), 0u);
}

}  // namespace
}  // namespace heddle::test
