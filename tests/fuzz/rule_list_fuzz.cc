// Foreign rule files of any bytes, in each format: what is accepted can be written as a rule file that reads back as
// the same rules, and nothing is kept of a file with mistakes.

#include <cstdlib>
#include <string_view>

#include "convert/rules/rule_list.h"
#include "core/error.h"

using namespace heddle::classifier;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* const formats[] = {"listing", "iptables", "nft", "ipfilter", "classbench"};
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::string> errors;
  RuleListOptions options;
  const size_t choice = data[0] % 6;
  if (choice < 5) options.format = formats[choice];
  RuleList list;
  try {
    list = read_rule_list("rules", text, options, errors);
  } catch (const heddle::Error&) {
    return 0;
  }
  if (errors.size() > 102 || (!errors.empty() && !list.rules.empty())) abort();
  size_t count = 0;
  for (const auto& [rule, number, line] : list.rules) {
    if (line == 0) abort();
    if (++count > 200) break;
    for (size_t f = 0; f < kFields; ++f)
      if (rule.low[f] > rule.high[f] || rule.high[f] > kLargest[f]) abort();
    for (const Condition& condition : rule.more)
      if (!condition.holds(condition.low) || condition.low > condition.high) abort();
    Rule again;
    if (!parse_rule(text_of(rule, action_text(rule.next)), list_actions(), again).empty() || !(again == rule)) abort();
  }
  return 0;
}
