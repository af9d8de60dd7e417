#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "functions/nids/rule_file.h"

namespace heddle::nids {

/** What reading the file "f" comes to. */
struct Read {
  RuleSet set;
  std::vector<std::string> errors;
};

inline Read read(const std::string& text, bool skip = false) {
  Read result;
  Variables variables;
  result.set = parse_rules("f", text, skip, variables, result.errors);
  return result;
}

/** Of what is not supported. */
inline std::vector<std::string> texts(const RuleSet& set) {
  std::vector<std::string> list;
  for (const LeftOut& rule : set.unsupported) list.push_back(rule.text);
  return list;
}

/** The rule with these options and sid 1. */
inline Signature one(const std::string& options, const std::string& header = "alert tcp any any -> any any") {
  Read result = read(header + " (" + options + " sid:1;)");
  EXPECT_EQ(result.errors, std::vector<std::string>{});
  EXPECT_EQ(result.set.rules.size(), 1u);
  return result.set.rules.empty() ? Signature{} : result.set.rules[0];
}

/** Why a rule with these options is none. */
inline std::string refusal(const std::string& options, const std::string& header = "alert tcp any any -> any any") {
  Read result = read(header + " (" + options + ")");
  EXPECT_EQ(result.set.rules.size(), 0u) << options;
  EXPECT_EQ(result.errors.size(), 1u) << options;
  return result.errors.empty() ? "" : result.errors[0];
}

inline void expect_in(const Ranges& set, std::initializer_list<std::pair<uint32_t, bool>> cases) {
  for (const auto& [value, is_in] : cases) EXPECT_EQ(set.contains(value), is_in) << value;
}

}  // namespace heddle::nids
