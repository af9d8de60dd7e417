// Rules that ask for more than the 5-tuple: elements with packets that have tags, TCP flags and IPv6 headers.

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "core/error.h"
#include "functions/classifier/frames_for_test.h"
#include "functions/classifier/rule_set.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(ConditionsOfPackets);

constexpr const char* kAny = "@0/0 0/0 0 : 65535 0 : 65535 ";

std::vector<std::string> engines_of_conditions(const Backend& backend) {
  auto engines = engines_on(backend);
  std::erase(engines, "acl");
  return engines;
}

std::vector<uint32_t> numbers_of(const Result& result, const std::string& sink) {
  std::vector<uint32_t> numbers;
  for (const auto& packet : result.at(sink)) numbers.push_back(packet.column[static_cast<int>(Column::rule)]);
  return numbers;
}

Frame tcp_packet(unsigned flags, size_t payload = 20) {
  Frame frame = packet_of({1, 2, 3, 4, 6}, payload);
  if (payload > 13) frame.bytes[kL3 + 20 + 13] = static_cast<uint8_t>(flags);
  return frame;
}

TEST_P(ConditionsOfPackets, TcpFlags) {
  Frame udp = tcp_packet(2), later = tcp_packet(2);
  udp.bytes[kL3 + 9] = 17;
  put_u16(later.bytes, kL3 + 6, 7);
  const std::vector<Frame> frames = {tcp_packet(2), tcp_packet(0x12), tcp_packet(0x10), udp, later, tcp_packet(2, 10)};
  for (const std::string& engine : engines_of_conditions(GetParam())) {
    const std::string rule = std::string(kAny) + "0x06/0xFF ";
    const Result result = run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + rule + "flags=0x02/0x12 0, " +
                                  rule + "flags=0x12/0x12 0, " + rule + "flags=0/2 0, DEFAULT 0, ENGINE " + engine +
                                  "); c -> s :: TestSink(READS rule);",
                              GetParam(), frames);
    EXPECT_EQ(numbers_of(result, "s"), (std::vector<uint32_t>{0, 1, 2, kNoRule, 2, 2})) << engine;
  }
}

TEST_P(ConditionsOfPackets, ColumnsAndBytes) {
  std::vector<Frame> frames(4, packet_of({1, 2, 3, 4, 17}));
  frames[1].column[static_cast<int>(Column::paint)] = 5;
  frames[2].column[static_cast<int>(Column::vlan)] = 0x6000 | 77;  // with a priority
  frames[3].bytes[kL3 + 1] = 0xb9;
  for (const std::string& engine : engines_of_conditions(GetParam())) {
    const Result result = run(
        "TestSource(SETS \"l3 l4 paint vlan\") -> c :: BitVectorClassifier(" + std::string(kAny) +
            "0x00/0x00 paint=4-5 0, " + kAny + "0x00/0x00 vlan=77 0, " + kAny + "0x00/0x00 ip[1/1]=0xb8/0xfc 0, " +
            kAny + "0x00/0x00 frame[12/2]=0x0800 0, DEFAULT 0, ENGINE " + engine + "); c -> s :: TestSink(READS rule);",
        GetParam(), frames);
    EXPECT_EQ(numbers_of(result, "s"), (std::vector<uint32_t>{3, 0, 1, 2})) << engine;
  }
}

Frame packet6(const std::string& source, const std::string& destination, unsigned next_header, unsigned port) {
  Frame frame;
  frame.bytes.assign(14 + 40 + 20, 0);
  frame.bytes[12] = 0x86, frame.bytes[13] = 0xdd, frame.bytes[14] = 0x60;
  frame.bytes[14 + 5] = 20, frame.bytes[14 + 6] = static_cast<uint8_t>(next_header);
  inet_pton(AF_INET6, source.c_str(), &frame.bytes[14 + 8]);
  inet_pton(AF_INET6, destination.c_str(), &frame.bytes[14 + 24]);
  put_u16(frame.bytes, 14 + 42, port);
  frame.column[static_cast<int>(Column::l3)] = 14;
  frame.column[static_cast<int>(Column::l4)] = 54;
  return frame;
}

TEST_P(ConditionsOfPackets, Ip6AndIp4InOneSet) {
  std::vector<Frame> frames = {
      packet6("2001:db8:1::7", "2001:db8::1", 6, 80),    packet6("2001:db8:2::7", "2001:db8::1", 6, 80),
      packet6("2001:db8:1::7", "2001:db8::2", 17, 80),   packet6("2001:db8:1::7", "2001:db8::2", 0, 80),
      packet_of({0x20010db8, 0x20010db8, 9, 80, 6}, 20), packet6("a00:1::", "::1", 6, 80),
      packet_of({0x0a000001, 1, 9, 80, 6}, 20),          packet6("2001:db8:1::7", "2001:db8::1", 6, 80)};
  frames.back().bytes.resize(14 + 30);
  const std::string tail = " 0 : 65535 80 : 80 0x06/0xFF 0, ";
  for (const std::string& engine : engines_of_conditions(GetParam())) {
    const Result result =
        run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(@2001:db8:1::/48 2001:db8::1/128" + tail +
                "@2001:db8::/32 ::/0" + tail + "@10.0.0.0/8 0/0" + tail +
                "@2001:db8::/32 2001:db8::2/127 0 : 65535 0 : 0 0x00/0x00 0, @0/0 0/0" + tail + " DEFAULT 0, ENGINE " +
                engine + "); c -> s :: TestSink(READS rule);",
            GetParam(), frames);
    EXPECT_EQ(numbers_of(result, "s"), (std::vector<uint32_t>{0, 1, kNoRule, 3, 4, 4, 2})) << engine;
    EXPECT_EQ(result.drop("c.short"), 1u);
  }
}

/** Bytes 12 to 19 of an IPv6 header are no IPv4 addresses. */
TEST_P(ConditionsOfPackets, OthersThanIp4HitNoRuleForIp4) {
  std::vector<Frame> frames = {
      packet_of({0x0a000001, 0x0a000002, 9, 80, 6}, 20), packet6("2001:db8:a00:1:a00:2::", "2001:db8::1", 6, 80),
      packet6("2001:db8:a00:1:a00:2::", "2001:db8::1", 17, 80), packet6("2001:db8:a00:1:a00:2::", "2001:db8::1", 6, 80),
      packet6("2001:db8:a00:1:a00:2::", "2001:db8::1", 6, 80)};
  frames[1].bytes[kL3 + 9] = 6;      // as the protocol is in IPv4
  frames[2].bytes.resize(kL3 + 20);  // no byte where ports would be
  frames[3].bytes[kL3] = 0x05;       // of no version
  frames[4].bytes.resize(kL3 + 19);
  frames[2].column[static_cast<int>(Column::l4)] = kL3 + 20;
  frames[2].bytes[kL3 + 9] = 6;
  const std::string rule = "@10.0.0.0/8 10.0.0.0/8 0 : 65535 0 : 65535 0x00/0x00",
                    tcp = std::string(kAny) + "0x06/0xFF";
  for (const std::string& engine : engines_on(GetParam())) {
    const Result result = run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + rule + " 0, " + tcp + " 0, " +
                                  kAny + "0x00/0x00 0, DEFAULT 1, ENGINE " + engine +
                                  "); c[0] -> s0 :: TestSink(READS rule); c[1] -> s1 :: TestSink(READS rule);",
                              GetParam(), frames);
    EXPECT_EQ(numbers_of(result, "s0"), (std::vector<uint32_t>{0})) << engine;
    EXPECT_EQ(numbers_of(result, "s1"), (std::vector<uint32_t>{kNoRule, kNoRule, kNoRule})) << engine;
    EXPECT_EQ(result.drop("c.short"), 1u);
  }
  for (const std::string& engine : engines_of_conditions(GetParam())) {
    for (const std::string more : {"frame[12/2]=0x86dd", "ip[0/1]=0x60/0xf0"}) {
      const Result result = run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + rule + " 0, " + tcp +
                                    " 0, " + kAny + "0x00/0x00 " + more + " 0, DEFAULT 1, ENGINE " + engine +
                                    "); c[0] -> s0 :: TestSink(READS rule); c[1] -> s1 :: TestSink(READS rule);",
                                GetParam(), frames);
      EXPECT_EQ(numbers_of(result, "s0"),
                more[0] == 'f' ? (std::vector<uint32_t>{0, 2, 2, 2}) : (std::vector<uint32_t>{0, 2, 2}))
          << engine << more;
    }
  }
}

TEST_P(ConditionsOfPackets, RangesOfIp6) {
  const std::vector<Frame> frames = {packet6("2001:db8::1", "::1", 6, 80),
                                     packet6("2001:db8::", "::1", 6, 80),
                                     packet6("2001:db8::1:5", "::1", 6, 80),
                                     packet6("2001:db8::1:6", "::1", 6, 80),
                                     packet6("2001:db8::ffff", "::1", 6, 80),
                                     packet6("::", "2001:db8:0:1::", 6, 80),
                                     packet6("::", "2001:db9:ffff::1", 6, 80),
                                     packet6("::", "2001:db9:ffff::2", 6, 80),
                                     packet_of({0x20010db8, 0x20010db8, 9, 80, 6}, 20)};
  const std::string tail = " 0 : 65535 0 : 65535 0x00/0x00 0";
  for (const std::string& engine : engines_of_conditions(GetParam())) {
    const Result result = run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(@2001:db8::1-2001:db8::1:5 ::/0" +
                                  tail + ", @::/0 2001:db8:0:0:9::-2001:db9:ffff::1" + tail + ", DEFAULT 0, ENGINE " +
                                  engine + "); c -> s :: TestSink(READS rule);",
                              GetParam(), frames);
    EXPECT_EQ(numbers_of(result, "s"), (std::vector<uint32_t>{0, kNoRule, 0, kNoRule, 0, 1, 1, kNoRule, kNoRule}))
        << engine;
  }
}

/** A packet of either version with anything in it, cut at times, and the bytes and columns that rules of the test below
 *  ask for. */
Frame random_packet(std::mt19937& random) {
  const auto few = [&] { return static_cast<uint32_t>(random() % 3); };
  const unsigned protocol = random() % 2 == 0 ? 6u : 17u;
  Frame frame;
  if (random() % 2 == 0) {
    frame = packet6(few() == 0 ? "2001:db8::1" : "2001:db8::2:1", few() == 0 ? "::1" : "2001:db8::1", protocol, few());
  } else {
    frame = packet_of({ip(10, 0, 0, few()), few() == 0 ? 0x20010db8u : 1u, 9, few(), protocol}, 20, few() * 4);
    if (few() == 0) put_u16(frame.bytes, kL3 + 6, few() * 0x1000 + few());
  }
  const size_t l4 = frame.column[static_cast<int>(Column::l4)];
  for (const size_t at : {size_t{15}, l4 + 4, l4 + 5, l4 + 13}) frame.bytes[at] = static_cast<uint8_t>(few());
  if (few() == 0) frame.bytes[kL3] = static_cast<uint8_t>(random());
  frame.column[static_cast<int>(Column::paint)] = few();
  frame.column[static_cast<int>(Column::vlan)] = few() << 12 | few();
  if (random() % 6 == 0) frame.bytes.resize(random() % frame.bytes.size());
  return frame;
}

/** What rules of the test below ask for: the value of a packet from its bytes, and how a rule asks for `value`. Any
 *  packet's transport header is where the column says. */
struct Asked {
  std::string name;
  std::function<uint32_t(const Frame&)> value;
};
std::vector<Asked> asked_places() {
  static const auto bytes = [](const Frame& frame, size_t from, size_t count) {
    uint32_t value = 0;
    for (size_t i = from; i < from + count; ++i)
      value = value << 8 | (from + count <= frame.bytes.size() ? frame.bytes[i] : 0u);
    return value;
  };
  static const auto column = [](const Frame& frame, Column c) {
    return static_cast<uint32_t>(frame.column[static_cast<int>(c)]);
  };
  static const auto later = [](const Frame& frame) {
    return frame.bytes[kL3] >> 4 == 4 && ((frame.bytes[kL3 + 6] & 31) != 0 || frame.bytes[kL3 + 7] != 0);
  };
  static const auto behind = [](const Frame& frame, size_t from, size_t count) {
    return later(frame) ? 0 : bytes(frame, column(frame, Column::l4) + from, count);
  };
  return {{"paint", [](const Frame& f) { return column(f, Column::paint); }},
          {"vlan", [](const Frame& f) { return column(f, Column::vlan) & 0xfff; }},
          {"frame[15/1]", [](const Frame& f) { return bytes(f, 15, 1); }},
          {"frame[13/4]", [](const Frame& f) { return bytes(f, 13, 4); }},
          {"ip[1/2]", [](const Frame& f) { return bytes(f, kL3 + 1, 2); }},
          {"transport[4/2]", [](const Frame& f) { return behind(f, 4, 2); }},
          {"transport[13/1]", [](const Frame& f) { return behind(f, 13, 1); }},
          {"transport[61/4]", [](const Frame& f) { return behind(f, 61, 4); }},
          {"version", [](const Frame& f) { return f.bytes[kL3] >> 4 & 15u; }}};
}

TEST_P(ConditionsOfPackets, RulesWithAnyOfThem) {
  auto random = random_for("conditions of packets");
  const auto places = asked_places();
  for (int round = 0; round < 3; ++round) {
    std::vector<Frame> frames;
    for (int i = 0; i < 600; ++i) frames.push_back(random_packet(random));
    struct Wanted {
      const Asked* place;
      uint32_t mask, low, high;
    };
    std::vector<std::vector<Wanted>> rules(60);
    std::string text = "version=5 0, ";  // all are told apart by version
    text.insert(0, std::string(kAny) + "0x00/0x00 ");
    for (auto& rule : rules) {
      text += std::string(kAny) + "0x00/0x00";
      const Asked& always = places[random() % places.size()];
      Frame like;
      while (like.bytes.size() < 40) like = frames[random() % frames.size()];
      for (const Asked& place : places) {
        if (random() % 2 != 0 && &place != &always) continue;
        const uint32_t value = place.value(like),
                       mask = place.name == "vlan" || place.name == "frame[13/4]" ? 0x301 : 0;
        if (mask != 0)
          text += format(" %s=%u/%u", place.name.c_str(), value & mask, mask);
        else
          text += format(" %s=%u-%u", place.name.c_str(), value, value + 1);
        rule.push_back(
            {&place, mask == 0 ? ~0u : mask, value & (mask == 0 ? ~0u : mask), mask == 0 ? value + 1 : value & mask});
      }
      text += " 0, ";
    }
    std::vector<uint32_t> expected;
    size_t too_short = 0;
    for (const Frame& frame : frames) {
      const size_t size = frame.bytes.size(), l4 = frame.column[static_cast<int>(Column::l4)];
      const unsigned version = size > kL3 ? frame.bytes[kL3] >> 4 : 0;
      const bool later =
          version == 4 && size >= kL3 + 8 && ((frame.bytes[kL3 + 6] & 31) != 0 || frame.bytes[kL3 + 7] != 0);
      const size_t protocol_at = kL3 + (version == 6 ? 6 : 9);
      bool whole = size >= kL3 + (version == 6 ? 40 : 20);
      if (whole && (version == 4 || version == 6) && !later) {
        const unsigned protocol = frame.bytes[protocol_at];
        for (const unsigned with_ports : {6u, 17u, 33u, 132u, 136u})
          whole = whole && (protocol != with_ports || size >= l4 + 4);
      }
      if (!whole) {
        ++too_short;
        continue;
      }
      uint32_t number = kNoRule;
      for (size_t r = rules.size(); r-- > 0;)
        if (std::ranges::all_of(rules[r], [&](const Wanted& wanted) {
              const uint32_t value = wanted.place->value(frame) & wanted.mask;
              return wanted.low <= value && value <= wanted.high;
            }))
          number = static_cast<uint32_t>(r) + 1;
      if (version == 5) number = 0;
      expected.push_back(number);
    }
    EXPECT_GT(std::set<uint32_t>(expected.begin(), expected.end()).size(), 8u);
    for (const std::string& engine : engines_of_conditions(GetParam())) {
      const Result result = run("TestSource(SETS \"l3 l4 paint vlan\") -> c :: BitVectorClassifier(" + text +
                                    "DEFAULT 0, ENGINE " + engine + "); c -> s :: TestSink(READS rule);",
                                GetParam(), frames);
      EXPECT_EQ(numbers_of(result, "s"), expected) << engine;
      EXPECT_EQ(result.drop("c.short"), too_short);
    }
  }
}

TEST(Conditions, ThatComeLaterNeedFields) {
  const std::string rule = std::string(kAny) + "0x00/0x00 ";
  const auto handlers_of = [&](const std::string& fields, Handlers& handlers, std::optional<Chain>& chain) {
    click::Diagnostics diagnostics;
    chain.emplace(read(
        "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + rule + "vlan=1 0" + fields + "); c[0] -> TestSink;",
        {}, diagnostics));
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
    chain->router.nodes[static_cast<size_t>(chain->router.find("c"))].element->handlers(handlers);
  };
  std::optional<Chain> chain;
  Handlers without, with;
  handlers_of("", without, chain);
  EXPECT_THROW(without.find("add")->write("5 " + rule + "paint=1 0"), Error);
  EXPECT_THROW(without.find("add")->write("5 @::/0 ::/0 0 : 65535 0 : 65535 0x00/0x00 0"), Error);
  without.find("add")->write("5 " + rule + "vlan=2 0");
  EXPECT_EQ(without.find("lookup")->read("1.2.3.4 1.2.3.4 1 1 6 vlan=2"), "5 0");
  EXPECT_EQ(without.find("lookup")->read("1.2.3.4 1.2.3.4 1 1 6 vlan=3"), "-1 deny");
  handlers_of(", FIELDS \"paint ip6\"", with, chain);
  with.find("add")->write("5 " + rule + "paint=1 0");
  with.find("add")->write("6 @2001:db8::/64 ::/0 0 : 65535 0 : 65535 0x00/0x00 0");
  EXPECT_EQ(with.find("lookup")->read("1.2.3.4 1.2.3.4 1 1 6 paint=1"), "5 0");
  EXPECT_EQ(with.find("lookup")->read("2001:db8::9 2001:db8::1 1 1 6"), "6 0");
  EXPECT_EQ(with.find("lookup")->read("2001:db8:0:1::9 2001:db8::1 1 1 6"), "-1 deny");
  EXPECT_NE(
      mistakes("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + rule + "0, FIELDS speed); c -> TestSink;")
          .find("FIELDS: 'speed' is not a field; there are flags"),
      std::string::npos);
}

}  // namespace
}  // namespace heddle::test
