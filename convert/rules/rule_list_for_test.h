#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "convert/rules/rule_list.h"

namespace heddle::classifier {

using Texts = std::vector<std::string>;

/** That file, of IPv4 where it does not say. */
inline RuleList read_file(const std::string& format, const std::string& text, Texts& mistakes) {
  Texts of_any;
  RuleList list = read_rule_list("f", text, {format, ""}, of_any);
  if (!of_any.empty() && of_any.back().find("--family ip6") != std::string::npos)
    return read_rule_list("f", text, {format, "", 4}, mistakes);
  mistakes.insert(mistakes.end(), of_any.begin(), of_any.end());
  return list;
}

/** A file's rules, as lines of a rule file. */
inline Texts rules_of(const std::string& format, const std::string& text, Texts* errors = nullptr) {
  Texts mistakes, lines;
  const RuleList list = read_file(format, text, mistakes);
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
inline Texts mistakes_of(const std::string& format, const std::string& text) {
  Texts errors;
  EXPECT_EQ(rules_of(format, text, &errors), Texts{}) << text;
  return errors;
}

inline std::string nft(const std::string& family, const std::string& rule) {
  return "table " + family + " t {\nchain c {\n" + rule + "\n}\n}\n";
}

inline std::string saved(const std::string& rule, const std::string& before = "",
                         const std::string& after = "COMMIT\n") {
  return before + "*filter\n:FORWARD DROP [0:0]\n:mine - [0:0]\n" + rule + "\n" + after;
}

/** Expects one mistake, in this line and with these words. */
inline void expect_mistake(const std::string& format, const std::string& text, size_t line, const std::string& words) {
  const Texts errors = mistakes_of(format, text);
  ASSERT_EQ(errors.size(), 1u) << text;
  EXPECT_TRUE(errors[0].starts_with("f:" + std::to_string(line) + ": ")) << errors[0];
  EXPECT_NE(errors[0].find(words), std::string::npos) << errors[0];
}

}  // namespace heddle::classifier
