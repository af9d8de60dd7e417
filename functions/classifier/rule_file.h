#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** What rules may ask for. */
struct Actions {
  /** Rule::next of a word; nothing if it is none. */
  std::function<std::optional<uint16_t>(std::string_view word)> read;
  std::string expected;             ///< the words that there are, for messages
  std::optional<uint16_t> usual{};  ///< of a rule without a word; if there is none, it needs one
};

/** Reads one filter of ClassBench, whose words are separated by blanks:
 *      @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK] [ACTION]
 *  Bits of an address after the length are ignored. The mask of the protocol is 0x00 (any) or 0xFF. The TCP flags are
 *  checked to be two hexadecimal numbers and otherwise ignored. Returns what is wrong, as the end of "'TEXT' is not a rule: ",
 *  or "" when `rule` holds it. */
std::string parse_rule(std::string_view text, const Actions& actions, Rule& rule);

/** The rules of a text, one a line; `#` starts a comment, and lines without words do not count. Every other line is a mistake:
 *  `errors` gets "NAME:LINE: 'TEXT' is not a rule: WHY" for the first 100 of them and one "NAME: ... and N more" for the
 *  rest. */
std::vector<Rule> parse_rules(const std::string& name, std::string_view text, const Actions& actions,
                              std::vector<std::string>& errors);

/** The same for a file. Throws Error when it cannot be read or is no text. */
std::vector<Rule> read_rule_file(const std::string& path, const Actions& actions, std::vector<std::string>& errors);

}  // namespace heddle::classifier
