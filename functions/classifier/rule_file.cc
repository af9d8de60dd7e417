#include "functions/classifier/rule_file.h"

#include <algorithm>

#include "core/error.h"
#include "core/mistakes.h"
#include "core/text_file.h"

namespace heddle::classifier {

namespace {

/** The program whose rules a text has, by its first line that says something; "" if none is known. */
std::string foreign_program(std::string_view text) {
  std::string program, first;
  each_line(text, [&](std::string_view line, size_t) {
    line = trimmed(line);
    if (!first.empty() || line.empty() || line[0] == '#') return;
    std::string_view rest = line;
    first = take_word(rest);
    if (first[0] == '*' || first[0] == ':' || first == "-A" || first == "-P" || first == "-N")
      program = "iptables-save";
    if (first == "table" || first == "flush") program = "nft";
    if (first == "allow" || first == "deny" || first == "drop" || first == "pass") program = "Click's IPFilter";
  });
  return program;
}

}  // namespace

void put_in_order(std::vector<ListedRule>& rules, Mistakes& mistakes) {
  const auto has_number = [](const ListedRule& rule) { return rule.number != kNoRule; };
  if (std::ranges::none_of(rules, has_number)) return;
  if (const auto without = std::ranges::find_if_not(rules, has_number); without != rules.end())
    return mistakes.add(without->line,
                        "a rule without a number among rules that have some; give all a number, or none");
  std::ranges::stable_sort(rules, {}, &ListedRule::number);
  for (size_t i = 1; i < rules.size(); ++i)
    if (rules[i].number == rules[i - 1].number)
      mistakes.add(rules[i].line, format("number %u is that of line %zu already", rules[i].number, rules[i - 1].line));
}

std::vector<ListedRule> list_rules(const std::string& name, std::string_view text, const Actions& actions,
                                   std::vector<std::string>& errors) {
  std::vector<ListedRule> rules;
  Mistakes mistakes(name, errors);
  if (const std::string program = foreign_program(text); !program.empty()) {
    errors.push_back(
        name + ": these are rules of " + program + "; make a rule file of them with `heddle rules convert " +
        (name == "standard input" ? "-" : name) + " -o FILE`, which says what the element needs beside it");
    return rules;
  }
  const std::string lacks_action = no_action(actions);
  std::string first;  // that lacks one: all of ClassBench's do, which is one mistake
  size_t first_number = 0, others = 0;
  each_line(text, [&](std::string_view whole, size_t number) {
    const std::string_view line = trimmed(whole.substr(0, whole.find('#')));
    if (line.empty()) return;
    ListedRule rule{{}, kNoRule, number};
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (word.starts_with('@') || !parse_number(word, kNoRule - 1, rule.number)) rest = line;
    if (word.find_first_not_of("0123456789") == word.npos && rule.number == kNoRule)
      return mistakes.add(number,
                          in_quotes(line) + format(" is not a rule: its number is larger than %u", kNoRule - 1));
    if (rest.empty()) rest = line;
    const std::string reason = parse_rule(rest, actions, rule.rule);
    if (reason == lacks_action && !first.empty())
      ++others;
    else if (reason == lacks_action)
      first = in_quotes(line) + " is not a rule: " + reason, first_number = number;
    else if (!reason.empty())
      mistakes.add(number, in_quotes(line) + " is not a rule: " + reason);
    else if (rules.size() == kMaxRules)
      mistakes.add(number, format("there is no room for more than %u rules", kMaxRules));
    else
      rules.push_back(std::move(rule));
  });
  if (others > 0) first += format("; %zu other%s no action either", others, others == 1 ? " has" : "s have");
  if (!first.empty()) mistakes.add(first_number, first);
  put_in_order(rules, mistakes);
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
  const std::string text = read_text_file(path, "rule file");
  const size_t before = errors.size();
  auto rules = list_rules(path, text, actions, errors);
  if (rules.empty() && errors.size() == before && text.find('#') == text.npos)
    errors.push_back(path + ": it has no rules; if that is meant, say so in it by a comment (#)");
  return rules;
}

}  // namespace heddle::classifier
