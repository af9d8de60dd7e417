// Rules that ask for more than the 5-tuple: engines against a search of all rules (elements with packets:
// packet_condition_test.cc).

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "core/error.h"
#include "functions/classifier/engine.h"
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
