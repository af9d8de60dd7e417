#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/signature.h"

namespace heddle::nids {

/** Values of the variables of rule files, by name without `$`. */
using Variables = std::map<std::string, std::string, std::less<>>;

constexpr uint32_t kLowestPriority = 255;

/** What a classtype means. */
struct Class {
  std::string description;
  uint32_t priority;  ///< of rules that say none: 1..255
};
using Classification = std::map<std::string, Class, std::less<>>;  ///< by classtype

/** Why a line is no rule that Heddle can use. */
struct Refusal {
  std::string why;
  bool unsupported = false;  ///< right, as far as can be seen, but it asks for something that is not there
  std::string feature = {};  ///< if `why` has something of this rule's own: what is not there, without that
};

/** Reads a rule: ACTION PROTOCOL SOURCE PORTS -> DESTINATION PORTS (OPTIONS). `rule.sid` is set if there is one, also
 *  if the rule is refused. */
std::optional<Refusal> parse_rule(std::string_view text, const Variables& variables, Signature& rule);

/** The parts of that: a set of addresses or of ports ("any", "!$HOME_NET", "[80,8000:8080,!8008]"), and the options
 *  between the parentheses. */
std::optional<Refusal> parse_addresses(std::string_view text, const Variables& variables, Addresses& addresses);
std::optional<Refusal> parse_ports(std::string_view text, const Variables& variables, Ranges& ports);
std::optional<Refusal> parse_options(std::string_view text, Signature& rule);

/** Appends the bytes of a content's text, without its quotes, to `bytes`: bytes, |48 65| in hexadecimal, a backslash
 *  before \ " ; : and |. Returns what is wrong ("is empty"), or "". */
std::string content_bytes(std::string_view text, std::string& bytes);

/** The rules of a text: one a line, a backslash at its end continues it, `#` at its start makes it a comment; lines
 *  `var`, `ipvar` and `portvar NAME VALUE` set variables for what follows. Of rules with the same gid and sid a later
 *  one with a higher revision counts, and any other is an error. `errors` gets "NAME:LINE: [RULE: ]WHY" for the first
 *  100 lines that are wrong, and for one the number of the others. Rules that ask for something that is not supported
 *  are listed in the result, and are errors as well unless `skip_unsupported`. */
RuleSet parse_rules(const std::string& name, std::string_view text, bool skip_unsupported, Variables& variables,
                    std::vector<std::string>& errors);

/** The same of a file. Throws Error when it cannot be read or is no text. */
RuleSet read_rule_file(const std::string& path, bool skip_unsupported, Variables& variables,
                       std::vector<std::string>& errors);

/** Reads lines `config classification: NAME,DESCRIPTION,PRIORITY`; `#` at a line's start makes it a comment. `errors`
 *  gets all others, as parse_rules() says them. */
Classification parse_classification(const std::string& name, std::string_view text, std::vector<std::string>& errors);

/** Gives rules what their classtypes mean: the category, and the priority if they say none. */
void classify(std::vector<Signature>& rules, const Classification& classes);

/** For people: "N: FEATURE (line L, sid S; ...)", a line for each of the 20 that the most rules ask for, with the first
 *  three of these, and how many others there are. */
std::string summary_of(const std::vector<LeftOut>& rules);

/** For people: "N bits for which rules ask (NAME: line L, sid S; ...)" of those that none sets, the first three with
 *  the first rule that asks; "" if there are none. */
std::string unset_bits(const std::vector<Signature>& rules);

/** For people: "N rules (line L, sid S; ...)", the first of them. */
std::string text_of(size_t count, const Signature& first);

/** The same of those with `tag`; "" if there are none. */
std::string tagging_rules(const std::vector<Signature>& rules);

}  // namespace heddle::nids
