// Rules that ask for more than the 5-tuple: engines against a search of all rules, and elements with packets that have
// tags, TCP flags and IPv6 headers.

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <set>

#include "core/error.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/frames_for_test.h"
#include "functions/classifier/key_text.h"
#include "functions/classifier/oracle_for_test.h"
#include "functions/classifier/rule_set.h"
#include "functions/classifier/rule_text.h"

namespace heddle::test {
namespace {

const Layout kLayout = {{Place::field, 4, kDestination},
                        kVlan,
                        {Place::network, 2, 6},
                        {Place::transport, 1, 13},
                        {Place::transport, 4, 20}};

struct FullKey {
  Key key;
  std::vector<uint32_t> more;
};

bool holds(const Condition& condition, uint32_t value) {
  value &= condition.mask;
  return condition.low <= value && value <= condition.high;
}

uint32_t first_of(const std::vector<Rule>& rules, const FullKey& key) {
  for (uint32_t number = 0; number < rules.size(); ++number) {
    bool all = true;
    for (size_t f = 0; f < kFields; ++f)
      all = all && rules[number].low[f] <= key.key[f] && key.key[f] <= rules[number].high[f];
    for (const Condition& condition : rules[number].more)
      for (size_t p = 0; p < kLayout.size(); ++p)
        if (kLayout[p] == condition.place) all = all && holds(condition, key.more[p]);
    if (all) return number;
  }
  return kNoRule;
}

std::vector<Rule> rules_with_conditions(std::mt19937& random, size_t count) {
  auto rules = random_rules(random, count);
  for (Rule& rule : rules) {
    if (random() % 2 == 0) rule = Rule{.next = rule.next};
    for (const Place& place : kLayout) {
      if (random() % 3 == 0) continue;
      const uint32_t most = place.largest();
      const auto one = static_cast<uint32_t>(random()) & most, other = static_cast<uint32_t>(random()) & most,
                 bits = static_cast<uint32_t>(random() & random() & random()) & most;
      // Of an address no prefix: that would be an interval, which may miss the one that the rule has.
      const uint32_t mask = place.kind == Place::field ? (bits | 1) & ~2u : bits;
      const bool range = random() % 2 == 0 && place.kind != Place::field;
      Rule narrower = rule;
      if (narrow(narrower, range ? Condition{place, most, std::min(one, other), std::max(one, other)}
                                 : Condition{place, mask, one & mask, one & mask}))
        rule = narrower;  // else bits at the beginning of the field contradict the rule's range
    }
  }
  return rules;
}

std::vector<FullKey> keys_for(std::mt19937& random, const std::vector<Rule>& rules, size_t count) {
  std::vector<FullKey> result;
  for (const Key& near : keys_near(random, rules, count)) {
    FullKey& key = result.emplace_back(FullKey{near, std::vector<uint32_t>(kLayout.size())});
    for (size_t p = 0; p < kLayout.size(); ++p) key.more[p] = static_cast<uint32_t>(random()) & kLayout[p].largest();
    const Rule& rule = rules[random() % rules.size()];
    if (random() % 4 != 0) {  // one that the rule takes
      for (size_t f = 0; f < kFields; ++f) key.key[f] = random() % 2 == 0 ? rule.low[f] : rule.high[f];
      for (const Condition& condition : rule.more)
        for (size_t p = 0; p < kLayout.size(); ++p)
          if (kLayout[p] == condition.place)
            key.more[p] = condition.mask == condition.place.largest()
                              ? (random() % 2 == 0 ? condition.low : condition.high)
                              : (key.more[p] & ~condition.mask) | condition.low;
      if (std::ranges::find(rule.more, kLayout[0], &Condition::place) != rule.more.end())
        key.key[kDestination] = key.more[0];
    }
    key.more[0] = key.key[kDestination];
  }
  return result;
}

class ConditionTest : public testing::TestWithParam<EngineKind> {};
INSTANTIATE_TEST_SUITE_P(All, ConditionTest,
                         testing::Values(EngineKind::bitvector, EngineKind::tuple, EngineKind::hypersplit),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(ConditionTest, FindsTheFirstOfRulesWithMasksAndRanges) {
  auto random = random_for("conditions");
  for (const size_t count : {1u, 30u, 400u, 2000u}) {
    std::vector<Rule> rules = rules_with_conditions(random, count);
    const auto engine = make_engine(GetParam(), {7, size_t{1} << 30, kLayout});
    RuleSet set;
    set.load(rules, 1, *engine);
    engine->start();
    size_t hits = 0;
    for (int round = 0; round < 3; ++round) {
      const auto keys = keys_for(random, rules, 1500);
      std::vector<uint32_t> values[kFields + 5];
      for (const FullKey& key : keys) {
        for (size_t f = 0; f < kFields; ++f) values[f].push_back(key.key[f]);
        for (size_t p = 0; p < kLayout.size(); ++p) values[kFields + p].push_back(key.more[p]);
      }
      std::vector<const uint32_t*> columns;
      for (const auto& value : values) columns.push_back(value.data());
      std::vector<Outcome> outcomes(keys.size());
      engine->classify(columns.data(), outcomes.data(), static_cast<int>(keys.size()));
      for (size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(outcomes[i].number, first_of(rules, keys[i])) << text_of(keys[i].key) << " of " << count;
        hits += outcomes[i].number != kNoRule ? 1 : 0;
      }
      std::vector<RuleChange> changes;
      std::map<uint32_t, Rule> changed;
      for (const Rule& rule : rules_with_conditions(random, 20)) changed[random() % count] = rule;
      for (const auto& [number, rule] : changed) rules[number] = rule, changes.push_back({number, rule});
      set.change(changes, *engine);
      engine->reclaim(), set.reclaim();
    }
    EXPECT_GT(hits, 1000u);
  }
}

TEST(Conditions, AclSaysThatItCannot) {
  try {
    make_engine(EngineKind::acl, {0, size_t{1} << 30, {kVlan}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "rte_acl is given the 5-tuple only, and the rules ask for vlan as well; use ENGINE bitvector or tuple");
  }
}

__extension__ using Wide = unsigned __int128;

std::array<uint32_t, 4> words_of(Wide number) {
  std::array<uint32_t, 4> words;
  for (size_t w = 0; w < 4; ++w) words[w] = static_cast<uint32_t>(number >> (96 - 32 * w));
  return words;
}
std::string digits_of(Wide number) {
  std::string text = "0x";
  for (const uint32_t word : words_of(number)) text += format("%08x", word);
  return text;
}
std::string address_of(Wide number) {
  std::string text;
  const std::string digits = digits_of(number);
  for (size_t at = 2; at < 34; at += 4) text += (at == 2 ? "" : ":") + digits.substr(at, 4);
  return text;
}

/** A rule of the test below: three ranges of 16 bytes and one of ports. */
struct WideRule {
  Wide low[3], high[3];
  uint32_t port_low, port_high;
};

/** Numbers with few different words, so that ranges often have words in common, and with all bits 0 or 1 behind a
 *  place. */
Wide random_wide(std::mt19937& random) {
  Wide number = 0;
  for (int word = 0; word < 4; ++word) {
    const uint32_t words[] = {0, ~0u, 1, 0x20010db8, static_cast<uint32_t>(random())};
    number = number << 32 | words[random() % 5];
  }
  return number;
}

// Rules as text, so that what is read is what is looked up: addresses as addresses, and 16 bytes of the packet.
TEST_P(ConditionTest, FindsTheFirstOfRulesWithRangesOf16Bytes) {
  auto random = random_for("wide ranges");
  const Actions any{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  for (const size_t count : {1u, 20u, 60u}) {
    std::vector<WideRule> wanted(count);
    std::vector<Rule> rules;
    Layout layout;
    for (WideRule& one : wanted) {
      for (int f = 0; f < 3; ++f) {
        one.low[f] = random_wide(random);
        one.high[f] = random() % 4 == 0 ? one.low[f] + random() % 1000 : random_wide(random);
        if (random() % 3 == 0) one.low[f] = 0, one.high[f] = ~Wide{0};
        if (one.low[f] > one.high[f]) std::swap(one.low[f], one.high[f]);
      }
      one.port_low = random() % 3, one.port_high = one.port_low + random() % 2;
      const std::string text = "@" + address_of(one.low[0]) + "-" + address_of(one.high[0]) + " " +
                               address_of(one.low[1]) + "-" + address_of(one.high[1]) +
                               format(" 0 : 65535 %u : %u 0x00/0x00 frame[20/16]=", one.port_low, one.port_high) +
                               digits_of(one.low[2]) + "-" + digits_of(one.high[2]);
      Rule rule, again;
      ASSERT_EQ(parse_rule(text, any, rule), "") << text;
      ASSERT_EQ(parse_rule(text_of(rule, ""), any, again), "") << text_of(rule, "");
      ASSERT_EQ(again, rule) << text_of(rule, "");
      add_places(layout, rule);
      rules.push_back(std::move(rule));
    }
    const auto engine = make_engine(GetParam(), {7, size_t{1} << 30, layout});
    RuleSet set;
    set.load(rules, 3, *engine);
    engine->start();
    EXPECT_EQ(set.size(), count);
    size_t hits = 0;
    const auto check = [&] {
      for (int k = 0; k < 2000; ++k) {
        const WideRule& near = wanted[random() % count];
        Wide key[3];
        for (int f = 0; f < 3; ++f) {
          const Wide values[] = {near.low[f],     near.high[f],     near.low[f] + 1,    near.high[f] - 1,
                                 near.low[f] - 1, near.high[f] + 1, random_wide(random)};
          key[f] = values[random() % 10 < 7 ? random() % 4 : random() % 7];
        }
        const uint32_t port = random() % 4;
        std::vector<uint32_t> values(kFields + layout.size());
        values[kSource] = words_of(key[0])[0], values[kDestination] = words_of(key[1])[0];
        values[kDestinationPort] = port;
        const auto put = [&](const Place& place, uint32_t value) {
          if (const auto at = find(layout, place)) values[kFields + *at] = value;
        };
        put(kIpVersion, 6);
        for (int word = 1; word < 4; ++word) {
          put(word_of(kSource, word), words_of(key[0])[static_cast<size_t>(word)]);
          put(word_of(kDestination, word), words_of(key[1])[static_cast<size_t>(word)]);
        }
        for (uint16_t word = 0; word < 4; ++word)
          put({Place::frame, 4, static_cast<uint16_t>(20 + 4 * word)}, words_of(key[2])[word]);
        uint32_t first = kNoRule;
        for (uint32_t number = 0; number < count && first == kNoRule; ++number) {
          const WideRule& one = wanted[number];
          bool all = set.find(3 * number) != nullptr && one.port_low <= port && port <= one.port_high;
          for (int f = 0; f < 3; ++f) all = all && one.low[f] <= key[f] && key[f] <= one.high[f];
          if (all) first = number;
          if (set.find(3 * number) != nullptr) {
            ASSERT_EQ(matches(rules[number], values, layout), all);
            ASSERT_EQ(why_not(rules[number], values, layout).empty(), all);
          }
        }
        std::vector<const uint32_t*> columns;
        for (const uint32_t& value : values) columns.push_back(&value);
        Outcome outcome;
        engine->classify(columns.data(), &outcome, 1);
        ASSERT_EQ(outcome.number, first == kNoRule ? kNoRule : 3 * first) << "of " << count;
        hits += first != kNoRule ? 1 : 0;
      }
    };
    check();
    EXPECT_GT(hits, 200u);
    std::vector<RuleChange> changes;  // half of them go: all parts of each
    for (uint32_t number = 0; number < count; number += 2) changes.push_back({3 * number, std::nullopt});
    set.change(changes, *engine);
    EXPECT_EQ(set.size(), count / 2);
    check();
  }
}

TEST(Conditions, RangesOf16BytesAreRead) {
  const Actions any{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  const std::string tail = " 0 : 65535 0 : 65535 0x00/0x00";
  const std::string zeros = "0x00000000000000000000000000000000", one = "0x00000000000000000000000000000001";
  const std::pair<std::string, std::string> mistakes[] = {
      {"@2001:db8::9-2001:db8::1 ::/0" + tail,
       "its lowest source, 2001:db8::9, is larger than the highest, 2001:db8::1"},
      {"@2001:db8::9- ::/0" + tail, "'' is not an IPv6 address, of which a range has two"},
      {"@::/0 ::1-10.0.0.1" + tail, "'10.0.0.1' is not an IPv6 address, of which a range has two"},
      {"@0/0 0/0" + tail + " frame[2/16]=" + one + "-" + zeros,
       "its lowest frame[2/16] is larger than the highest: '" + one + "-" + zeros + "'"},
      {"@0/0 0/0" + tail + " frame[2/16]=1-2",
       "'1-2' is not 0x and 32 hexadecimal digits, or two such with '-' or '/' between them"},
      {"@0/0 0/0" + tail + " frame[2/16]=" + zeros + "-" + one + " frame[14/4]=7",
       "no packet can match it, for what it asks of frame[2/16]"}};
  for (const auto& [text, reason] : mistakes) {
    Rule rule;
    EXPECT_EQ(parse_rule(text, any, rule), reason) << text;
  }
  Rule rule;
  ASSERT_EQ(parse_rule("@2001:db8::1-2001:db8::9 ::/0" + tail, any, rule), "");
  EXPECT_EQ(text_of(rule, ""), "@2001:db8::1-2001:db8::9 ::/0" + tail);
  EXPECT_EQ(parts(rule).size(), 1u);
  ASSERT_EQ(parse_rule("@0/0 0/0" + tail + " destination6[0/16]=" + zeros + "-" + one, any, rule), "");
  EXPECT_EQ(text_of(rule, ""), "@::/0 ::-::1" + tail);
}

TEST(Conditions, AreNegated) {
  auto random = random_for("negated conditions");
  for (int round = 0; round < 500; ++round) {
    const Place place = kLayout[1 + random() % 3];
    const uint32_t most = place.largest(), mask = static_cast<uint32_t>(random()) & most;
    const auto one = static_cast<uint32_t>(random()) & most, other = static_cast<uint32_t>(random()) & most;
    const Condition condition = random() % 2 == 0 ? Condition{place, most, std::min(one, other), std::max(one, other)}
                                                  : Condition{place, mask, one & mask, one & mask};
    const auto opposite = negated(condition);
    for (uint32_t value = 0; value <= most; value += most > 255 ? 1 + random() % 97 : 1) {
      const bool any = std::ranges::any_of(opposite, [&](const Condition& c) { return holds(c, value); });
      ASSERT_NE(any, holds(condition, value)) << value;
      ASSERT_EQ(holds(canonical(condition), value), holds(condition, value)) << value;
    }
  }
}

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
  const Result result =
      run("TestSource(SETS \"l3 l4 paint vlan\") -> c :: BitVectorClassifier(" + std::string(kAny) +
              "0x00/0x00 paint=4-5 0, " + kAny + "0x00/0x00 vlan=77 0, " + kAny + "0x00/0x00 ip[1/1]=0xb8/0xfc 0, " +
              kAny + "0x00/0x00 frame[12/2]=0x0800 0, DEFAULT 0); c -> s :: TestSink(READS rule);",
          GetParam(), frames);
  EXPECT_EQ(numbers_of(result, "s"), (std::vector<uint32_t>{3, 0, 1, 2}));
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

TEST(Conditions, PlacesOfAddressesAreWholeWords) {
  for (const char* name : {"source6[4/4]", "source6[12/4]", "destination6[8/4]"})
    EXPECT_TRUE(parse_places(name)) << name;
  for (const char* name :
       {"source6[0/1]", "source6[0/4]", "source6[5/4]", "source6[4/2]", "destination6[16/4]", "destination6[0/16]"})
    EXPECT_FALSE(parse_places(name)) << name;
}

TEST(Conditions, KeysOfIp6NeedRulesThatLookAtIt) {
  const std::string key = "2001:db8::1 2001:db8::2 1 2 6";
  EXPECT_EQ(parse_key(key, {kIpVersion}), (std::vector<uint32_t>{0x20010db8, 0x20010db8, 1, 2, 6, 6}));
  try {
    parse_key(key, {});
    FAIL() << "it was taken for IPv4";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "'2001:db8::1' is an IPv6 address, and the rules look at IPv4 only");
  }
}

TEST(Conditions, EngineAutoLeavesOutBitVectorsForManyFields) {
  std::vector<SetRule> rules(2);
  Layout layout;
  for (uint16_t at = 0; at < 16; ++at) {
    const Place place{Place::frame, 4, static_cast<uint16_t>(4 * at)};
    for (SetRule& rule : rules) rule.rule.more.push_back({place, 0x01010101, 1, 1});
  }
  add_places(layout, rules[0].rule);
  const EngineChoice choice = choose_engine(rules, {0, size_t{1} << 30, layout});
  EXPECT_NE(choice.kind, EngineKind::bitvector);
  EXPECT_NE(choice.why.find(
                "no bitvector: the rules ask for so many fields that bit vectors need 69 dimensions, more than 32"),
            std::string::npos)
      << choice.why;
}

}  // namespace
}  // namespace heddle::test
