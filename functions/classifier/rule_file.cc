#include "functions/classifier/rule_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "click/values.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {
namespace {

constexpr size_t kMaxWords = 12;  // of a rule, and one more

bool parse_number(std::string_view text, int base, uint32_t most, uint32_t& number) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return false;
  number = value;
  return true;
}

/** 0x06/0xFF */
bool parse_masked(std::string_view text, uint32_t most, uint32_t& value, uint32_t& mask) {
  const size_t slash = text.find('/');
  if (slash == text.npos) return false;
  const std::string_view parts[] = {text.substr(0, slash), text.substr(slash + 1)};
  return std::ranges::all_of(parts, [](auto part) { return part.starts_with("0x") || part.starts_with("0X"); }) &&
         parse_number(parts[0].substr(2), 16, most, value) && parse_number(parts[1].substr(2), 16, most, mask);
}

std::string parse_prefix(std::string_view text, Field field, Rule& rule) {
  click::Ipv4Prefix prefix;
  if (!click::parse(text, prefix)) return in_quotes(text) + " is not an IPv4 prefix such as 192.0.2.0/24";
  rule.low[field] = prefix.address;
  rule.high[field] = prefix.address | static_cast<uint32_t>(~uint64_t{0} >> 32 >> prefix.length);
  return "";
}

std::string parse_ports(const std::string_view* words, Field field, Rule& rule) {
  for (const auto& [word, limit] : {std::pair{words[0], &rule.low[field]}, std::pair{words[2], &rule.high[field]}})
    if (!parse_number(word, 10, kLargest[field], *limit)) return in_quotes(word) + " is not a port, 0 to 65535";
  if (words[1] != ":") return "expected ':' between the lowest and the highest port, not " + in_quotes(words[1]);
  if (rule.low[field] > rule.high[field])
    return format("its lowest %s, %u, is larger than the highest, %u", kFieldNames[field], rule.low[field],
                  rule.high[field]);
  return "";
}

}  // namespace

std::string parse_rule(std::string_view text, const Actions& actions, Rule& rule) {
  std::vector<std::string_view> words = words_of(text, kMaxWords);
  if (words.size() < 9 || !words[0].starts_with('@'))
    return "expected @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK] [ACTION]";
  Rule result;
  for (const std::string& reason :
       {parse_prefix(words[0].substr(1), kSource, result), parse_prefix(words[1], kDestination, result),
        parse_ports(&words[2], kSourcePort, result), parse_ports(&words[5], kDestinationPort, result)})
    if (!reason.empty()) return reason;
  uint32_t protocol = 0, mask = 0;
  if (!parse_masked(words[8], 0xff, protocol, mask) || (mask != 0 && mask != 0xff))
    return in_quotes(words[8]) + " is not a protocol and its mask (0x00 or 0xFF), such as 0x06/0xFF";
  if (mask != 0) result.low[kProtocol] = result.high[kProtocol] = protocol;

  words.erase(words.begin(), words.begin() + 9);
  if (!words.empty() && words[0].find('/') != std::string_view::npos) {
    uint32_t flags = 0;
    if (!parse_masked(words[0], 0xffff, flags, mask))
      return in_quotes(words[0]) + " is not a value and mask of TCP flags, such as 0x0000/0x0200";
    words.erase(words.begin());
  }
  if (words.size() > 1) return in_quotes(words[1]) + " is left over after the action";
  const auto action = words.empty() ? actions.usual : actions.read(words[0]);
  if (!action && words.empty())
    return "it has no action (" + actions.expected + "), and there is no ACTION for such rules";
  if (!action) return in_quotes(words[0]) + " is not an action; there are " + actions.expected;
  result.next = *action;
  rule = result;
  return "";
}

std::vector<Rule> parse_rules(const std::string& name, std::string_view text, const Actions& actions,
                              std::vector<std::string>& errors) {
  std::vector<Rule> rules;
  read_lines(name, text, "#", errors, [&](std::string_view line) {
    Rule rule;
    const std::string reason = parse_rule(line, actions, rule);
    if (reason.empty()) rules.push_back(rule);
    return reason.empty() ? "" : in_quotes(line) + " is not a rule: " + reason;
  });
  return rules;
}

std::vector<Rule> read_rule_file(const std::string& path, const Actions& actions, std::vector<std::string>& errors) {
  return parse_rules(path, read_text_file(path, "rule file"), actions, errors);
}

}  // namespace heddle::classifier
