// Foreign rule files into ours. Whether rules take the packets that the other program takes is tested with the kernel's filter
// (tests/test_rules.py).

#include "convert/rules/rule_list.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace heddle::classifier {
namespace {

using Texts = std::vector<std::string>;

/** A file's rules, as lines of a rule file. */
Texts rules_of(const std::string& format, const std::string& text, Texts* errors = nullptr) {
  Texts mistakes, lines;
  const RuleList list = read_rule_list("f", text, {format, ""}, mistakes);
  if (errors == nullptr) {
    EXPECT_EQ(mistakes, Texts{}) << text;
  }
  for (const ListedRule& rule : list.rules) {
    lines.push_back(text_of(rule.rule, action_text(rule.rule.next)));
    Rule again;
    EXPECT_EQ(parse_rule(lines.back(), list_actions(), again), "") << lines.back();
    EXPECT_EQ(again, rule.rule) << lines.back() << " is read as " << text_of(again, action_text(again.next));
  }
  if (errors != nullptr) *errors = mistakes;
  return lines;
}

/** What is wrong with a file, of which nothing may be kept. */
Texts mistakes_of(const std::string& format, const std::string& text) {
  Texts errors;
  EXPECT_EQ(rules_of(format, text, &errors), Texts{}) << text;
  return errors;
}

std::string nft(const std::string& family, const std::string& rule) {
  return "table " + family + " t {\nchain c {\n" + rule + "\n}\n}\n";
}

// ---- What the fuzz targets found

TEST(RuleList, TcpFlagsOfOtherProtocolsAreBytes) {
  EXPECT_EQ(rules_of("ipfilter", "deny udp[13] & 0x17 = 2\n"),
            Texts{"@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x11/0xFF transport[13/1]=0x2/0x17 deny"});
  EXPECT_EQ(rules_of("ipfilter", "deny tcp[13] & 0x17 = 2\n"),
            Texts{"@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF flags=0x2/0x17 deny"});
}

TEST(RuleList, ContradictionsAreNoRules) {
  EXPECT_EQ(rules_of("nft", nft("ip6", "meta nfproto ipv4 tcp dport 5 accept")), Texts{});
}

TEST(RuleList, AsksForAsManyFieldsAsAnElementLooksAt) {
  std::string all, one_more;
  for (int i = 0; i < 33; ++i)
    (i < 32 ? all : one_more) += (i == 0 ? "" : " and ") + std::string("ip[") + std::to_string(40 + i) + "] = 1";
  EXPECT_EQ(rules_of("ipfilter", "deny " + all + "\n").size(), 1u);
  const Texts errors = mistakes_of("ipfilter", "deny " + all + one_more + "\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("33 fields beside addresses, ports and protocol are asked for, more than 32"),
            std::string::npos)
      << errors[0];
}

}  // namespace
}  // namespace heddle::classifier
