#include "functions/classifier/rule_file.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "functions/classifier/field.h"

namespace heddle::classifier {
namespace {

Actions test_actions(std::optional<uint16_t> usual = std::nullopt) {
  return {.read = [](std::string_view word) -> std::optional<uint16_t> {
            return word == "allow"  ? std::optional<uint16_t>(0)
                   : word == "deny" ? std::optional<uint16_t>(9)
                                    : std::nullopt;
          },
          .expected = "allow and deny",
          .usual = usual};
}

std::string problem(const std::string& text, std::optional<uint16_t> usual = 0) {
  Rule rule, before;
  rule.next = before.next = 77;
  const std::string reason = parse_rule(text, test_actions(usual), rule);
  if (!reason.empty()) {
    EXPECT_EQ(rule, before) << "a bad rule was half loaded";
  }
  return reason;
}

TEST(RuleFile, ReadsClassBenchFilters) {
  Rule rule;
  EXPECT_EQ(parse_rule("@192.0.2.128/25\t198.51.100.7/32\t0 : 65535\t1024 : 2047\t0x06/0xFF\t0x0000/0x0200\t",
                       test_actions(9), rule),
            "");
  EXPECT_EQ(rule.low, (Key{0xc0000280, 0xc6336407, 0, 1024, 6}));
  EXPECT_EQ(rule.high, (Key{0xc00002ff, 0xc6336407, 65535, 2047, 6}));
  EXPECT_EQ(rule.next, 9);
  EXPECT_EQ(parse_rule("@10.1.2.3/8 0.0.0.0/0 5 : 5 0 : 0 0x00/0x00 allow", test_actions(9), rule), "");
  EXPECT_EQ(rule.low, (Key{0x0a000000, 0, 5, 0, 0}));
  EXPECT_EQ(rule.high, (Key{0x0affffff, 0xffffffff, 5, 0, 255}));
  EXPECT_EQ(rule.next, 0);
  EXPECT_EQ(problem("@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0xff/0xff 0xffff/0xffff deny"), "");
}

TEST(RuleFile, SaysWhatIsWrong) {
  const std::string form =
      "expected @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK] [FIELD=VALUE ...] "
      "[ACTION]";
  EXPECT_EQ(problem(""), form);
  EXPECT_EQ(problem("1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 0x06/0xFF"), form);
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1"), "it ends before the protocol; " + form);
  EXPECT_EQ(problem("@1.2.3.4/32"), "it ends before the destination; " + form);
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 1 0"), "it ends before the ':' of the destination ports; " + form);
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0:65535 0:65535 6/255 allow"),
            "'0:65535' is not the lowest source port: blanks belong around the ':'; " + form);
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 65535 80:90 6/255 allow"),
            "'80:90' is not the lowest destination port: blanks belong around the ':'; " + form);
  EXPECT_EQ(problem("@1.2.3.4/33 1.2.3.4/32 0 : 1 0 : 1 0x06/0xFF"),
            "'1.2.3.4/33' is not an IPv4 prefix such as 192.0.2.0/24");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.256/32 0 : 1 0 : 1 0x06/0xFF"),
            "'1.2.3.256/32' is not an IPv4 prefix such as 192.0.2.0/24");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 2 : 1 0 : 1 0x06/0xFF"),
            "its lowest source port, 2, is larger than the highest, 1");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 1 65535 : 0 0x06/0xFF"),
            "its lowest destination port, 65535, is larger than the highest, 0");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 65536 0 : 1 0x06/0xFF"), "'65536' is not a port, 0 to 65535");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 -1 : 6 0 : 1 0x06/0xFF"), "'-1' is not a port, 0 to 65535");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 - 6 0 : 1 0x06/0xFF"),
            "expected ':' between the lowest and the highest port, not '-'");
  for (const std::string protocol : {"6", "0x06", "0x06/0x0F", "0x106/0xFF", "06/FF", "0x/0xFF", "0x06/0xFF/0xFF"})
    EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 6 0 : 1 " + protocol),
              "'" + protocol +
                  "' is not a protocol and its mask (0x00 or 0xFF), such as 0x06/0xFF, nor a range such as "
                  "6-17");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 6 0 : 1 0x06/0xFF 0x10000/0x0"),
            "'0x10000/0x0' is not a value and mask of TCP flags, such as 0x0000/0x0200");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 6 0 : 1 0x06/0xFF permit"),
            "'permit' is not an action; there are allow and deny");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 6 0 : 1 0x06/0xFF allow deny"), "'deny' is left over after the action");
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 6 0 : 1 0x06/0xFF", std::nullopt),
            "it has no action (allow and deny), and there is no ACTION for such rules");
}

TEST(RuleFile, ReportsEveryBadLine) {
  std::vector<std::string> errors;
  const std::string good = "@1.2.3.4/32 1.2.3.4/32 0 : 6 0 : 1 0x06/0xFF allow";
  const auto rules =
      parse_rules("r", "# rules\n" + good + "  # one\r\n\nx\n" + good + "\ny\001", test_actions(), errors);
  EXPECT_EQ(rules.size(), 2u);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_TRUE(errors[0].starts_with("r:4: 'x' is not a rule: expected @SOURCE")) << errors[0];
  EXPECT_TRUE(errors[1].starts_with("r:6: 'y\\x01' is not a rule: expected @SOURCE")) << errors[1];

  errors.clear();
  std::string many;
  for (int i = 0; i < 150; ++i) many += "z\n";
  parse_rules("r", many, test_actions(), errors);
  ASSERT_EQ(errors.size(), 101u);
  EXPECT_EQ(errors.back(), "r: ... and 50 more");
}

TEST(RuleFile, MistakesAreInTheOrderOfLines) {
  const std::string rule = "@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00 allow\n";
  std::string text = rule;  // no number: known at the end
  for (int i = 2; i <= 12; ++i) text += i % 5 == 0 ? "x\n" : std::to_string(i) + " " + rule;
  std::vector<std::string> errors;
  parse_rules("r", text, test_actions(), errors);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_TRUE(errors[0].starts_with("r:1: a rule without a number")) << errors[0];
  EXPECT_TRUE(errors[1].starts_with("r:5: 'x'")) << errors[1];
  EXPECT_TRUE(errors[2].starts_with("r:10: 'x'")) << errors[2];
  // Beyond a hundred those of the lowest lines are told.
  errors.clear();
  for (int i = 0; i < 150; ++i) text += "x\n";
  parse_rules("r", text, test_actions(), errors);
  ASSERT_EQ(errors.size(), 101u);
  EXPECT_TRUE(errors[0].starts_with("r:1: a rule without a number")) << errors[0];
  EXPECT_TRUE(errors[99].starts_with("r:109: 'x'")) << errors[99];
  EXPECT_EQ(errors[100], "r: ... and 53 more");
}

TEST(RuleFile, ThatRulesLackAnActionIsOneMistake) {
  const std::string rule = "@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00",
                    mistake =
                        "r:2: '" + rule +
                        "' is not a rule: it has no action (allow and deny), and there is no ACTION for such rules";
  std::string text = "x\n" + rule + "\n" + rule + " allow\n";
  std::vector<std::string> errors;
  parse_rules("r", text, test_actions(), errors);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1], mistake);
  for (int i = 0; i < 200; ++i) text += rule + "\n";
  errors.clear();
  parse_rules("r", text, test_actions(), errors);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1], mistake + "; 200 others have no action either");
}

TEST(RuleFile, ReadsFurtherFields) {
  Rule rule;
  EXPECT_EQ(parse_rule("@10.0.0.3-10.0.0.9 0/0 0 : 65535 0 : 65535 6-17 vlan=7 flags=0x02/0x12 ip[1/1]=0xb8/0xfc "
                       "transport[0/2]=5-9 source=0x01020304/0xff00ff00 deny",
                       test_actions(), rule),
            "");
  EXPECT_EQ(rule.low[kSource], 0x0a000003u);
  EXPECT_EQ(rule.high[kSource], 0x0a000009u);
  EXPECT_EQ(rule.low[kProtocol], 6u) << "flags are TCP's";
  EXPECT_EQ(rule.high[kProtocol], 6u);
  const std::vector<Condition> wanted = {{{Place::field, 4, 0}, 0xff00ff00, 0x01000300, 0x01000300},
                                         {kVlan, 4095, 7, 7},
                                         {{Place::network, 1, 1}, 0xff, 0xb8, 0xbb},
                                         {kTcpFlags, 0x12, 2, 2},
                                         {{Place::transport, 2, 0}, 0xffff, 5, 9}};
  EXPECT_EQ(rule.more, wanted);
  EXPECT_EQ(parse_rule("@2001:db8:1:2::/56 ::/0 0 : 65535 0 : 65535 0x00/0x00 allow", test_actions(), rule), "");
  EXPECT_EQ(rule.low[kSource], 0x20010db8u);
  EXPECT_EQ(rule.high[kDestination], ~0u);
  const std::vector<Condition> prefix = {{kIpVersion, 255, 6, 6},
                                         {{Place::source6, 4, 4}, ~0u, 0x00010000, 0x000100ff}};
  EXPECT_EQ(rule.more, prefix);
  EXPECT_EQ(parse_rule("@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00 ip[8/16]=0x20010db8000000000000000000000001 allow",
                       test_actions(), rule),
            "");
  EXPECT_EQ(rule.more.size(), 4u);

  const auto why = [&](const std::string& fields) {
    return problem("@0/0 0/0 0 : 65535 0 : 65535 0x11/0xFF " + fields + " allow");
  };
  EXPECT_TRUE(why("speed=3").starts_with("'speed' is not a field; there are flags, vlan, paint"));
  EXPECT_EQ(why("vlan=4096"), "'4096' is not VALUE, LOW-HIGH or VALUE/MASK of numbers up to 0xfff, which vlan has");
  EXPECT_EQ(why("vlan=9-8"), "its lowest vlan, 9, is larger than the highest, 8");
  EXPECT_EQ(why("flags=2"), "no packet can match it, for what it asks of the protocol") << "UDP";
  EXPECT_EQ(why("vlan=1 vlan=2"), "no packet can match it, for what it asks of the vlan");
  EXPECT_TRUE(why("vlan=1-5 vlan=2/6").starts_with("a range and a mask of the same field, vlan, in one rule"));
  EXPECT_TRUE(why("ip[1/3]=2").starts_with("'ip[1/3]' is not a field"));
  EXPECT_EQ(problem("@0.0.0.9-0.0.0.8 0/0 0 : 1 0 : 1 0x06/0xFF"),
            "its lowest source, 0.0.0.9, is larger than the highest, 0.0.0.8");
  EXPECT_EQ(problem("@2001::/129 ::/0 0 : 1 0 : 1 0x06/0xFF"),
            "'2001::/129' is not an IPv6 prefix such as 2001:db8::/32");
}

TEST(RuleFile, CutsNoRuleOff) {
  std::string fields, words;
  for (int i = 0; i < 32; ++i) fields += format(" ip[%d/1]=1", i);
  for (int i = 0; i < 70; ++i) words += " vlan=1";
  const std::string rule = "@0/0 0/0 0 : 65535 0 : 65535 0x06/0xFF 0x0000/0x0000" + fields;
  EXPECT_EQ(problem(rule + " allow"), "");
  EXPECT_EQ(problem(rule + " vlan=3 allow"),
            "33 fields beside addresses, ports and protocol are asked for, more than 32; take some away");
  EXPECT_EQ(problem(rule + " allow x"), "'x' is left over after the action");
  EXPECT_EQ(problem("@0/0 0/0 0 : 65535 0 : 65535 0x06/0xFF" + words + " allow"), "");
  EXPECT_EQ(problem("@0/0 0/0 0 : 65535 0 : 65535 0x06/0xFF" + words + " allow x"), "it has more than 80 words");
}

TEST(RuleFile, AddressesOfTwoVersionsMatchNothing) {
  Rule rule;
  for (const char* addresses : {"@2001:db8::/32 10.0.0.0/8", "@10.0.0.1-10.0.0.9 2001:db8::1/128"})
    EXPECT_EQ(parse_rule(addresses + std::string(" 0 : 65535 80 : 80 0x06/0xFF allow"), test_actions(), rule),
              "no packet can match it, for one of its addresses is of IPv4, the other of IPv6");
  EXPECT_EQ(parse_rule("@2001:db8::/32 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF allow", test_actions(), rule), "");
}

TEST(RuleFile, WritesWhatItReads) {
  for (const std::string text :
       {"@10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 90 0x06/0xFF allow",
        "@10.0.0.3-10.0.0.9 1.2.3.4/32 1 : 1 0 : 0 6-17 deny",
        "@2001:db8::/33 ::/0 0 : 65535 0 : 65535 0x00/0x00 paint=3 allow",
        "@::/0 2001:db8::1/128 0 : 65535 0 : 65535 0x00/0x00 transport[0/4]=1-9 allow",
        "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x11/0xFF transport[13/1]=0x2/0x17 allow",
        "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF source=0x1000200/0xff00ff00 version=4 flags=0x2/0x12 allow",
        "@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00 version=6 source6[4/4]=0x1/0x10f allow"}) {
    Rule rule, again;
    ASSERT_EQ(parse_rule(text, test_actions(), rule), "") << text;
    const std::string written = text_of(rule, text.ends_with("deny") ? "deny" : "allow");
    EXPECT_EQ(written, text);
    EXPECT_EQ(parse_rule(written, test_actions(), again), "");
    EXPECT_EQ(again, rule) << written;
  }
}

TEST(RuleFile, PutsNumberedRulesInOrder) {
  const std::string rule = " @0/0 0/0 0 : 65535 1 : 1 0x06/0xFF allow\n";
  std::vector<std::string> errors;
  auto rules = list_rules("r", "30" + rule + "\n7" + rule, test_actions(), errors);
  EXPECT_EQ(errors, std::vector<std::string>{});
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].number, 7u);
  EXPECT_EQ(rules[0].line, 3u);
  EXPECT_EQ(rules[1].number, 30u);
  EXPECT_EQ(rules[1].line, 1u);
  list_rules("r", "5" + rule + "6" + rule + "5" + rule, test_actions(), errors);
  EXPECT_EQ(errors, std::vector<std::string>{"r:3: number 5 is that of line 1 already"});
  errors.clear();
  list_rules("r", "5" + rule + "x\n5" + rule, test_actions(), errors);
  ASSERT_EQ(errors.size(), 2u) << "not only the first kind of mistake";
  EXPECT_EQ(errors[1], "r:3: number 5 is that of line 1 already");
  errors.clear();
  list_rules("r", "5" + rule + rule, test_actions(), errors);
  EXPECT_EQ(errors, std::vector<std::string>{"r:2: a rule without a number among rules that have some; give all a "
                                             "number, or none"});
}

TEST(RuleFile, RefusesWhatIsNoText) {
  std::vector<std::string> errors;
  EXPECT_THROW(list_rule_file("/dev/zero", test_actions(), errors), Error);
  EXPECT_THROW(list_rule_file("/nonexistent", test_actions(), errors), Error);
}

}  // namespace
}  // namespace heddle::classifier
