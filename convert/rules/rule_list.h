#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::string format = "auto";  ///< classbench, listing, iptables, nft, ipfilter, or auto: what the text looks like
  std::string chain;            ///< iptables, nft: whose rules; "": forward, or the only one with rules
};

/** The rules of a file in the order in which they count. A line of the file may be several. */
struct RuleList {
  std::vector<ListedRule> rules;
  std::string format;              ///< in which the file is
  std::optional<uint16_t> policy;  ///< of packets that hit no rule, if the file says
  std::string chain;               ///< whose rules they are
  size_t left_out = 0;             ///< rules of other chains, and those without a verdict
};

/** Reads a text in any of the formats. Every line that is wrong or not supported is reported: "NAME:LINE: 'TEXT' ...". If there
 *  are any, no rule counts. Throws Error when the format cannot be told. */
RuleList read_rule_list(const std::string& name, std::string_view text, const RuleListOptions& options,
                        std::vector<std::string>& errors);

/** Formats by themselves. */
RuleList read_listing(const std::string& name, std::string_view text, std::vector<std::string>& errors);
RuleList read_iptables(const std::string& name, std::string_view text, const std::string& chain,
                       std::vector<std::string>& errors);
RuleList read_nft(const std::string& name, std::string_view text, const std::string& chain,
                  std::vector<std::string>& errors);
RuleList read_ip_filter(const std::string& name, std::string_view text, std::vector<std::string>& errors);

/** Collects mistakes, of which the first 100 are kept. */
class Mistakes {
 public:
  Mistakes(const std::string& name, std::vector<std::string>& errors) : name_(name), errors_(errors) {}
  ~Mistakes();
  Mistakes(const Mistakes&) = delete;
  void add(size_t line, const std::string& text, const std::string& reason);

 private:
  const std::string& name_;
  std::vector<std::string>& errors_;
  size_t count_ = 0;
};

/** Calls read(line, number) for each line of a text, from 1. */
template <class Read>
void each_line(std::string_view text, const Read& read) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    read(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace heddle::classifier
