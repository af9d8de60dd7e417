// The option `tag`, by which Suricata logs packets that follow a match (7.0.10, detect-tag; its manual has no page on
// it, that of Snort 2 has, 3.7.5).

#include <algorithm>
#include <iterator>

#include "functions/nids/rule_numbers.h"

namespace heddle::nids {

std::optional<Refusal> parse_tag(std::string_view text) {
  static constexpr std::string_view kOf[] = {"session", "host"}, kUnits[] = {"packets", "seconds", "bytes"},
                                    kWays[] = {"src", "dst"};
  std::string_view parts[4], rest = text;
  size_t count = 0;
  for (bool more = true; more; ++count) {
    const size_t comma = rest.find(',');
    more = comma != rest.npos;
    if (count < std::size(parts)) parts[count] = trimmed(rest.substr(0, comma));
    if (more) rest.remove_prefix(comma + 1);
  }
  const auto is_one = [](const auto& words, std::string_view word) {
    return std::ranges::find(words, word) != std::end(words);
  };
  uint32_t number = 0;
  const bool good = is_one(kOf, parts[0]) &&
                    (count == 1 || ((count == 3 || (count == 4 && is_one(kWays, parts[3]))) &&
                                    to_number(parts[1], number, 0u, UINT32_MAX) && is_one(kUnits, parts[2])));
  if (good) return std::nullopt;
  return Refusal{"tag " + in_quotes(text) +
                 " is not session or host, and perhaps NUMBER, packets, seconds or bytes, and src or dst"};
}

std::string tagging_rules(const std::vector<Signature>& rules) {
  const auto first = std::ranges::find_if(rules, &Signature::tags);
  if (first == rules.end()) return "";
  return text_of(static_cast<size_t>(std::ranges::count_if(rules, &Signature::tags)), *first);
}

}  // namespace heddle::nids
