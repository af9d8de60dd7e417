// The options of rules about bits of flows and addresses (Suricata 7.0, Flow Keywords and Xbits Keyword).

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "functions/nids/rule_numbers.h"

namespace heddle::nids {
namespace {

using Kind = BitOption::Kind;
using Of = BitOption::Of;

constexpr std::pair<std::string_view, Kind> kKinds[] = {{"set", Kind::set},
                                                        {"unset", Kind::unset},
                                                        {"toggle", Kind::toggle},
                                                        {"isset", Kind::is_set},
                                                        {"isnotset", Kind::is_not_set}};
constexpr std::pair<std::string_view, Of> kTracked[] = {
    {"ip_src", Of::source}, {"ip_dst", Of::destination}, {"ip_pair", Of::pair}};

/** What `word` stands for in the table; false: nothing. */
template <class Table, class T>
bool choose(const Table& table, std::string_view word, T& to) {
  const auto found = std::ranges::find(table, word, [](const auto& one) { return one.first; });
  if (found == std::end(table)) return false;
  to = found->second;
  return true;
}

/** Takes off what stands before the next of `separator`, or all. */
std::string_view take_part(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/** track ip_src, ip_dst or ip_pair; then perhaps expire SECONDS. */
bool read_tracking(std::string_view text, BitOption& option) {
  std::string_view track = take_part(text, ',');
  if (take_word(track) != "track" || !choose(kTracked, trimmed(track), option.of)) return false;
  if (text.empty()) return true;
  return take_word(text) == "expire" && to_number(text, option.seconds, 1u, UINT32_MAX);
}

}  // namespace

bool is_bit_option(std::string_view name) { return name == "flowbits" || name == "xbits"; }

std::optional<Refusal> parse_bit_option(std::string_view name, std::string_view text, Signature& rule) {
  const std::string what = std::string(name) + " " + in_quotes(text);
  const bool of_flow = name == "flowbits";
  if (of_flow && trimmed(text) == "noalert") {
    rule.silent = true;
    return std::nullopt;
  }
  BitOption option;
  std::string_view rest = text;
  const std::string_view kind = take_part(rest, ',');
  const bool known = choose(kKinds, kind, option.kind);
  if (of_flow && (kind == "reset" || kind == "setx" || rest.find(',') != rest.npos))
    return Refusal{what + " is Snort's, which is not supported", true, "flowbits of groups are not supported"};
  if (!known && of_flow)
    return Refusal{what + " is not noalert, or one of set, unset, toggle, isset and isnotset, NAME"};
  std::string_view names = of_flow ? std::exchange(rest, {}) : take_part(rest, ',');
  if (!of_flow && (!known || !read_tracking(rest, option)))
    return Refusal{what +
                   " is not one of set, unset, toggle, isset and isnotset, NAME, track ip_src, ip_dst or ip_pair, and "
                   "perhaps expire SECONDS"};
  while (!names.empty()) {
    const bool several = of_flow && option.asks();
    const std::string_view one = several ? take_part(names, '|') : trimmed(std::exchange(names, {}));
    if (of_flow && one.find('|') != one.npos)
      return Refusal{what + " has several names, which only isset and isnotset may", true,
                     "flowbits that change several bits are not supported"};
    if (of_flow && one.find_first_of(" \t") != one.npos)
      return Refusal{what + " has " + in_quotes(one) + ", which is no name"};
    if (!one.empty()) option.names.emplace_back(one);
  }
  if (option.names.empty()) return Refusal{what + " has no name"};
  rule.bits.push_back(std::move(option));
  return std::nullopt;
}

}  // namespace heddle::nids
