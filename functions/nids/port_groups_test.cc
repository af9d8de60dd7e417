// Which patterns are looked for in which packets, against rules asked one by one.

#include "functions/nids/port_groups.h"

#include <algorithm>
#include <set>

#include "functions/nids/automata.h"
#include "functions/nids/packets_for_test.h"
#include "functions/nids/rule_file.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

using namespace nids;

using Texts = std::set<std::string>;

std::vector<Signature> signatures_of(const std::vector<OracleRule>& rules) {
  std::vector<Signature> signatures(rules.size());
  for (size_t r = 0; r < rules.size(); ++r) {
    const std::string text = rules[r].text();
    EXPECT_EQ(parse_rule(std::string_view(text).substr(0, text.size() - 1), {}, signatures[r]), std::nullopt) << text;
  }
  return signatures;
}

OracleRule rule_with(unsigned sid, const std::string& protocol, const OraclePorts& to, const std::string& bytes) {
  OracleRule rule;
  rule.sid = sid, rule.protocol = protocol, rule.destination_ports = to;
  rule.contents.push_back({.bytes = bytes});
  return rule;
}

/** Each time other bytes, of small letters. */
std::string word(unsigned number, size_t bytes) {
  auto random = std::mt19937(number);
  std::string text;
  while (text.size() < bytes) text += static_cast<char>('a' + random() % 26);
  return text;
}

/** What is looked for in a packet with ports, or, with -1, none; and whether it is a candidate in any case. */
struct Wanted {
  Texts patterns;
  bool always = false;
  bool operator==(const Wanted&) const = default;
};

Wanted wanted_for(const std::vector<OracleRule>& rules, int protocol, int source, int destination) {
  OraclePacket packet{.is_ip = true,
                      .protocol = protocol,
                      .has_ports = source >= 0,
                      .source_port = source,
                      .destination_port = destination};
  Wanted wanted;
  for (const OracleRule& rule : rules)
    if (is_for(rule, packet)) {
      const std::string pattern = lower(rule.fast_pattern());
      if (pattern.empty()) wanted.always = true;
      if (!pattern.empty()) wanted.patterns.insert(pattern);
    }
  return wanted;
}

Wanted got_for(const Automata& automata, int protocol, int source, int destination) {
  View view{};
  view.protocol = protocol_of(static_cast<uint32_t>(protocol));
  view.has_ports = source >= 0;
  if (view.has_ports)
    view.source_port = static_cast<uint16_t>(source), view.destination_port = static_cast<uint16_t>(destination);
  const PortGroup& group = automata.group_of(view);
  const auto& patterns = automata.patterns()[group.number];
  EXPECT_TRUE(group.search == PortGroup::Search::always ||
              (group.search == PortGroup::Search::nothing) == patterns.empty());
  return {{patterns.begin(), patterns.end()}, group.search == PortGroup::Search::always};
}

TEST(PortGroups, HaveThePatternsOfTheRulesThatPortsAllow) {
  auto random = random_for("port groups");
  for (int round = 0, rounds = tries(20, 500); round < rounds; ++round) {
    const int end = round % 2 == 0 ? 12 : 65536;
    std::vector<OracleRule> rules;
    while (rules.size() < 1 + static_cast<size_t>(round)) {
      OracleRule rule = random_rule(random, static_cast<unsigned>(rules.size()) + 1);
      rule.source_ports = rule.destination_ports = {};
      if (random() % 3 == 0) rule.destination_ports = random_ports(random, end);
      if (random() % 6 == 0) rule.source_ports = random_ports(random, end);
      rules.push_back(rule);
      if (rules.size() == 24) break;
    }
    const Automata automata(signatures_of(rules));
    std::vector<int> ports{0, 1, 65534, 65535};
    for (const OracleRule& rule : rules)
      for (const OraclePorts& of : {rule.source_ports, rule.destination_ports})
        for (const auto& item : of.items)
          for (const int port : {item.low - 1, item.low, item.high, item.high + 1})
            if (port >= 0 && port < 65536) ports.push_back(port);
    for (const int protocol : {1, 6, 17, 47})
      ASSERT_EQ(got_for(automata, protocol, -1, 0), wanted_for(rules, protocol, -1, 0)) << protocol;
    for (int packet = 0; packet < 300; ++packet) {
      const int protocol = random() % 2 == 0 ? 6 : 17;
      const int source = ports[random() % ports.size()], destination = ports[random() % ports.size()];
      ASSERT_EQ(got_for(automata, protocol, source, destination), wanted_for(rules, protocol, source, destination))
          << protocol << ": " << source << " to " << destination;
    }
  }
}

// A thousand services: more ports than there are classes. Each is looked for few patterns besides its own.
TEST(PortGroups, NeighboursShareWhereThereAreMany) {
  std::vector<OracleRule> rules;
  for (unsigned r = 0; r < 1000; ++r)
    rules.push_back(rule_with(r + 1, "tcp", {{{static_cast<int>(7 * r), static_cast<int>(7 * r)}}}, word(r, 12)));
  rules.push_back(rule_with(1001, "tcp", {}, "everywhere"));
  const Automata automata(signatures_of(rules));
  EXPECT_LE(automata.patterns().size(), kMaxGroups);
  EXPECT_GE(automata.patterns().size(), kMaxGroups / 4);
  for (unsigned r = 0; r < 1000; ++r) {
    const Wanted got = got_for(automata, 6, 99, static_cast<int>(7 * r));
    ASSERT_TRUE(got.patterns.contains(word(r, 12)) && got.patterns.contains("everywhere")) << r;
    ASSERT_LE(got.patterns.size(), 40u) << r;
  }
  EXPECT_EQ(got_for(automata, 6, -1, 0).patterns, Texts{"everywhere"});
}

// Sources and destinations that make more pairs than there may be, and more groups.
TEST(PortGroups, PairsShareWhereThereAreMany) {
  std::vector<OracleRule> rules;
  for (unsigned r = 0; r < 300; ++r) {
    rules.push_back(rule_with(r + 1, r % 3 == 0 ? "ip" : "udp", {{{static_cast<int>(r), 300}}}, word(r, 8)));
    rules.push_back(rule_with(r + 301, "udp", {}, word(r + 301, 8)));
    rules.back().source_ports.items = {{static_cast<int>(r), 300 + static_cast<int>(r % 2), r % 4 == 0}};
    rules[rules.size() - 1 - r % 2].both_ways = r % 5 == 0;
  }
  const Automata automata(signatures_of(rules));
  EXPECT_LE(automata.patterns().size(), kMaxGroups);
  auto random = random_for("pairs of ports");
  for (int packet = 0; packet < 300; ++packet) {
    const int source = static_cast<int>(random() % 310), destination = static_cast<int>(random() % 310);
    const Wanted got = got_for(automata, 17, source, destination), wanted = wanted_for(rules, 17, source, destination);
    ASSERT_TRUE(std::ranges::includes(got.patterns, wanted.patterns)) << source << " to " << destination;
  }
  EXPECT_LT(got_for(automata, 17, 5, 5).patterns.size(), got_for(automata, 17, 295, 299).patterns.size());
}

// Each of fifty ports has its own patterns besides two thousand that all have: copies of these are not for nothing.
TEST(PortGroups, HaveBoundedMemory) {
  std::vector<OracleRule> rules;
  for (unsigned r = 0; r < 2000; ++r) rules.push_back(rule_with(r + 1, "tcp", {}, word(r, 16)));
  const Automata one(signatures_of(rules));
  EXPECT_EQ(one.group_count(), 1u);
  for (unsigned r = 2000; r < 2500; ++r) {
    const int port = static_cast<int>(r % 50);
    rules.push_back(rule_with(r + 1, "tcp", {{{port, port}}}, word(r, 16)));
  }
  const Automata automata(signatures_of(rules));
  EXPECT_LE(automata.image().states, std::max(2 * one.image().states * 5 / 4, 65536u));
  EXPECT_GT(automata.group_count(), 1u);
  for (int port = 0; port <= 50; ++port) {
    const Texts got = got_for(automata, 6, 77, port).patterns, wanted = wanted_for(rules, 6, 77, port).patterns;
    ASSERT_TRUE(std::ranges::includes(got, wanted)) << port;
  }
  // What nobody needs for its port does not share with UDP.
  EXPECT_EQ(got_for(automata, 17, 77, 5), Wanted{});
}

HEDDLE_ON_EVERY_BACKEND(NidsPortsTest);

/** Serial numbers of the packets that are candidates. */
std::vector<int64_t> candidates(const Backend& backend, const TextFile& file, const std::vector<Frame>& frames) {
  const Result result = run("TestSource(SETS \"l3 l4\") -> ids :: NIDS(" + file.path +
                                "); ids[0] -> clean :: TestSink; ids[1] -> candidates :: TestSink;",
                            backend, frames);
  std::vector<int64_t> list;
  for (const Received& packet : result.at("candidates")) list.push_back(packet.serial);
  return list;
}

TEST_P(NidsPortsTest, LooksForWhatPortsAllowOnly) {
  const TextFile file("ports");
  OracleRule both = rule_with(4, "tcp", {{{9000, 9009}, {9005, 9005, true}}}, "both");
  both.both_ways = true;
  OracleRule from = rule_with(5, "ip", {}, "from");
  from.source_ports.items = {{123, 123}};
  OracleRule nothing = rule_with(6, "udp", {{{5353, 5353}}}, "nothing");
  nothing.contents[0].negated = true;
  file.write({rule_with(1, "tcp", {{{80, 80}, {8080, 8090}}}, "GET"), rule_with(2, "udp", {{{53, 53}}}, "evil"),
              rule_with(3, "tcp", {}, "anywhere"), both, from, nothing});
  struct Packet {
    int protocol;
    const char* payload;
    unsigned source, destination;
    bool candidate;
  };
  const Packet packets[] = {
      {6, "a GET", 7, 80, true},      {6, "a GET", 7, 8085, true},    {6, "a GET", 80, 7, false},
      {6, "a GET", 7, 81, false},     {17, "a GET", 7, 80, false},    {1, "a GET", 7, 80, false},
      {6, "evil", 7, 53, false},      {17, "evil", 7, 53, true},      {17, "evil", 53, 53, true},
      {17, "evil", 53, 7, false},     {6, "anywhere", 7, 53, true},   {6, "anywhere", 80, 65535, true},
      {17, "anywhere", 7, 53, false}, {47, "anywhere", 0, 0, false},  {6, "both", 9000, 1, true},
      {6, "both", 1, 9009, true},     {6, "both", 9005, 9005, false}, {6, "both", 9005, 9006, true},
      {6, "both", 8999, 9010, false}, {17, "from", 123, 9, true},     {6, "from", 123, 80, true},
      {6, "from", 80, 123, false},    {1, "from", 123, 123, false},   {47, "from", 0, 0, false},
      {17, "", 1, 5353, true},        {17, "xyz", 5353, 5352, false}, {6, "xyz", 1, 5353, false},
  };
  std::vector<Frame> frames;
  std::vector<int64_t> wanted;
  for (const Packet& packet : packets) {
    if (packet.candidate) wanted.push_back(static_cast<int64_t>(frames.size()));
    frames.push_back(packet_with(packet.protocol, packet.payload, packet.source, packet.destination));
  }
  // Without ports: a later fragment, whose first bytes say 80, and a header of TCP that is not whole.
  for (const auto& [text, candidate] : {std::pair{"anywhere", true}, {"GET", false}}) {
    frames.push_back(packet_with(6, text, 1, 80));
    put_u16(frames.back().bytes, kL3 + 6, 5);
    frames.push_back(packet_with(6, text, 1, 80));
    frames.back().bytes[kL3 + 32] = 0x40;
    if (candidate) wanted.push_back(static_cast<int64_t>(frames.size()) - 2), wanted.push_back(wanted.back() + 1);
  }
  EXPECT_EQ(candidates(GetParam(), file, frames), wanted);
}

// Patterns that one automaton would have to shorten are whole where ports divide them.
TEST_P(NidsPortsTest, GroupsSparePatternsFromBeingShortened) {
  if (!GetParam().on_gpu() || GetParam().by_load) GTEST_SKIP() << "Hyperscan takes half a minute for so many patterns";
  const TextFile file("whole_patterns");
  std::vector<OracleRule> rules;
  for (unsigned r = 0; r < 2600; ++r) {
    const int port = static_cast<int>(r % 2);
    rules.push_back(rule_with(r + 1, "tcp", {{{port, port}}}, word(r, 28)));
  }
  file.write(rules);
  std::vector<Frame> frames;
  std::vector<int64_t> wanted;
  for (unsigned i = 0; i < 300; ++i) {
    std::string payload = "some bytes before " + word(i * 7, 28);
    if (i % 3 == 0) payload[18 + i % 28] = '!';
    if (i % 3 == 1) wanted.push_back(i);
    frames.push_back(packet_with(6, payload, 9, (i * 7 + i % 3 / 2) % 2));  // every third goes to the other port
  }
  EXPECT_EQ(candidates(GetParam(), file, frames), wanted);
}

}  // namespace
}  // namespace heddle::test
