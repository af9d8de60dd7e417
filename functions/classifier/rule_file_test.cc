#include "functions/classifier/rule_file.h"

#include <gtest/gtest.h>

#include "core/error.h"

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
      "expected @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK] [ACTION]";
  EXPECT_EQ(problem(""), form);
  EXPECT_EQ(problem("1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1 0x06/0xFF"), form);
  EXPECT_EQ(problem("@1.2.3.4/32 1.2.3.4/32 0 : 1 0 : 1"), form);
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
              "'" + protocol + "' is not a protocol and its mask (0x00 or 0xFF), such as 0x06/0xFF");
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

TEST(RuleFile, RefusesWhatIsNoText) {
  std::vector<std::string> errors;
  EXPECT_THROW(read_rule_file("/dev/zero", test_actions(), errors), Error);
  EXPECT_THROW(read_rule_file("/nonexistent", test_actions(), errors), Error);
}

}  // namespace
}  // namespace heddle::classifier
