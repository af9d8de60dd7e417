// Rule files of any bytes: what is accepted has limits in order and within their fields, and reading the same line
// twice gives the same; the table of a small set finds the rule itself, or one before it, at the corners of each.

#include <cstdlib>
#include <string_view>

#include "functions/classifier/rule_file.h"
#include "functions/classifier/table.h"

using namespace heddle::classifier;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Actions actions{.read = [](std::string_view word) -> std::optional<uint16_t> {
                          if (word == "allow") return uint16_t{0};
                          return word == "deny" ? std::optional<uint16_t>(1) : std::nullopt;
                        },
                        .expected = "allow and deny",
                        .usual = uint16_t{2}};
  std::vector<std::string> errors;
  const auto rules = parse_rules("rules", {reinterpret_cast<const char*>(data), size}, actions, errors);
  if (errors.size() > 101) abort();
  for (const Rule& rule : rules)
    for (size_t f = 0; f < kFields; ++f)
      if (rule.low[f] > rule.high[f] || rule.high[f] > kLargest[f] || rule.next > 2) abort();
  if (rules.size() > 64) return 0;
  BitVectorTable table;
  table.load(rules, 3, size_t{1} << 24);
  for (uint32_t number = 0; number < rules.size(); ++number)
    for (const Key& corner : {rules[number].low, rules[number].high})
      if (lookup(table.image(), corner) > number) abort();
  return 0;
}
