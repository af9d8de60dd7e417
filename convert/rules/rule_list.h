#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/mistakes.h"
#include "functions/classifier/field.h"
#include "functions/classifier/rule_file.h"

namespace heddle::classifier {

// Rule::next in a RuleList: an output's number, or one of these.
constexpr uint16_t kAllow = 0xfe00, kDeny = 0xfe01, kNoAction = 0xfe02;
/** "allow", "deny", "", or the output. */
std::string action_text(uint16_t next);
/** The words that action_text() gives, and which action a rule without one has: none. */
Actions list_actions();

/** How a file is to be read. */
struct RuleListOptions {
  std::string format = "auto";    ///< classbench, listing, iptables, nft, ipfilter, or auto: what the text looks like
  std::string chain;              ///< iptables, nft: whose rules; "": forward, or the only one with rules
  int family = 0;                 ///< iptables: 4 or 6, where nothing in the text says; 0: then it is a mistake
  bool skip_unsupported = false;  ///< iptables, nft: lines that have no equal are left out, and listed
};

/** The rules of a file in the order in which they count. A line of the file may be several. */
struct RuleList {
  std::vector<ListedRule> rules;
  std::string format;              ///< in which the file is
  std::optional<uint16_t> policy;  ///< of packets that hit no rule, if the file says
  std::string chain;               ///< whose rules they are
  size_t left_out = 0;             ///< rules of other chains, and those without a verdict
  /** A line that is not supported. */
  struct Skipped {
    size_t line;
    std::string problem;  ///< "'TEXT' is not supported: ..."
    bool may_drop;        ///< packets that go on here
  };
  std::vector<Skipped> skipped;
  std::vector<std::pair<size_t, std::string>> ignored;  ///< lines with bits of an address that do not count: which
  /** Lines of other chains that packets come through as well, whose rules or policies drop. */
  std::set<size_t> other_drops;
  /** Lines of rules for IPv6 about a protocol or what follows its header: other programs find it behind extension
   *  headers, too. */
  std::set<size_t> by_protocol;
  std::set<size_t> answered;       ///< lines of rules that deny, and there also answer the sender (reject)
  std::vector<size_t> impossible;  ///< lines of rules that no packet can match, which are left out
  std::vector<size_t> unreached;   ///< lines of chains that are jumped to, of which the same is true where they are
  bool both_versions = false;      ///< they see packets of IPv4 and IPv6, even if none of them asks for the version
};

/** Reads a text in any of the formats. Every line that is wrong or not supported is reported: "NAME:LINE: 'TEXT' ...".
 *  If there are any, no rule counts. Throws Error when the format cannot be told. */
RuleList read_rule_list(const std::string& name, std::string_view text, const RuleListOptions& options,
                        std::vector<std::string>& errors);

/** The places at which the rules look, all that tells the versions apart included if they look at packets of both. */
Layout layout_of(const RuleList& list);

/** Formats by themselves. */
RuleList read_listing(const std::string& name, std::string_view text, std::vector<std::string>& errors);
RuleList read_iptables(const std::string& name, std::string_view text, const RuleListOptions& options,
                       std::vector<std::string>& errors);
RuleList read_nft(const std::string& name, std::string_view text, const RuleListOptions& options,
                  std::vector<std::string>& errors);
RuleList read_ip_filter(const std::string& name, std::string_view text, std::vector<std::string>& errors);

/** Appends what a line has become. Throws Error when there is no room for it. */
void add_rules(RuleList& list, std::vector<Rule> rules, size_t line);
/** The end of a message about a line, of the text of an Error: "is not ..." */
std::string as_problem(const std::string& reason);

}  // namespace heddle::classifier
