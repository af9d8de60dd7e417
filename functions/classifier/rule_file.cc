#include "functions/classifier/rule_file.h"

#include <algorithm>

#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {

void put_in_order(const std::string& name, std::vector<ListedRule>& rules, std::vector<std::string>& errors) {
  const auto has_number = [](const ListedRule& rule) { return rule.number != kNoRule; };
  if (std::ranges::none_of(rules, has_number)) return;
  if (const auto without = std::ranges::find_if_not(rules, has_number); without != rules.end()) {
    errors.push_back(format("%s:%zu: a rule without a number among rules that have some; give all a number, or none",
                            name.c_str(), without->line));
    return;
  }
  std::ranges::stable_sort(rules, {}, &ListedRule::number);
  for (size_t i = 1; i < rules.size(); ++i)
    if (rules[i].number == rules[i - 1].number && errors.size() < 100)
      errors.push_back(format("%s:%zu: number %u is that of line %zu already", name.c_str(), rules[i].line,
                              rules[i].number, rules[i - 1].line));
}

std::vector<ListedRule> list_rules(const std::string& name, std::string_view text, const Actions& actions,
                                   std::vector<std::string>& errors) {
  std::vector<ListedRule> rules;
  size_t line_number = 1;
  const char* counted = text.data();
  read_lines(name, text, "#", errors, [&](std::string_view line) {
    line_number += static_cast<size_t>(std::count(counted, line.data(), '\n'));
    counted = line.data();
    ListedRule rule{{}, kNoRule, line_number};
    std::string_view rest = line;
    if (const std::string_view first = take_word(rest);
        first.starts_with('@') || !parse_number(first, kNoRule - 1, rule.number))
      rest = line;
    const std::string reason = parse_rule(rest, actions, rule.rule);
    if (reason.empty()) rules.push_back(rule);
    return reason.empty() ? "" : in_quotes(line) + " is not a rule: " + reason;
  });
  if (errors.empty()) put_in_order(name, rules, errors);
  return rules;
}

std::vector<Rule> parse_rules(const std::string& name, std::string_view text, const Actions& actions,
                              std::vector<std::string>& errors) {
  std::vector<Rule> rules;
  for (ListedRule& listed : list_rules(name, text, actions, errors)) rules.push_back(std::move(listed.rule));
  return rules;
}

std::vector<ListedRule> list_rule_file(const std::string& path, const Actions& actions,
                                       std::vector<std::string>& errors) {
  return list_rules(path, read_text_file(path, "rule file"), actions, errors);
}

}  // namespace heddle::classifier
