#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "functions/classifier/rule_text.h"

namespace heddle {
class Mistakes;
}

namespace heddle::classifier {

/** A rule of a file. */
struct ListedRule {
  Rule rule;
  uint32_t number = kNoRule;  ///< that the file gives it; kNoRule: none
  size_t line = 0;            ///< from 1
};

/** The rules of a text, one a line as parse_rule() reads them, or all with their numbers before them; `#` starts a
 *  comment, and lines without words do not count. That a text is of iptables, nft or IPFilter is one mistake. Every
 *  other line is a mistake: `errors` gets "NAME:LINE: 'TEXT' is not a rule: WHY" for the first 100 of them and one
 *  "NAME: ... and N more" for the rest; also for numbers that two rules have, and those that only some have. That rules
 *  lack an action is one mistake, of the first. The rules, at most kMaxRules, are in the order in which they count. */
std::vector<ListedRule> list_rules(const std::string& name, std::string_view text, const Actions& actions,
                                   std::vector<std::string>& errors);

/** Sorts rules with numbers, and reports those that two have and those that only some have. */
void put_in_order(std::vector<ListedRule>& rules, Mistakes& mistakes);

/** The rules alone. */
std::vector<Rule> parse_rules(const std::string& name, std::string_view text, const Actions& actions,
                              std::vector<std::string>& errors);

/** list_rules() of a file, in which no rule is a mistake as well, unless it has a comment: what has gone wrong when it
 *  was written is no set of rules. Throws Error when it cannot be read or is no text. */
std::vector<ListedRule> list_rule_file(const std::string& path, const Actions& actions,
                                       std::vector<std::string>& errors);

}  // namespace heddle::classifier
