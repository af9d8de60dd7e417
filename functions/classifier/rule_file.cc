#include "functions/classifier/rule_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "click/values.h"
#include "core/error.h"
#include "core/text_file.h"

namespace heddle::classifier {
namespace {

constexpr size_t kMaxErrors = 100;
constexpr size_t kMaxQuoted = 80;  // characters of a bad line in its error
constexpr size_t kMaxWords = 12;   // of a rule, and one more

bool is_blank(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }

/** `text` as it may stand in a message: printable, of bounded length. */
std::string quoted(std::string_view text) {
  std::string result(text.substr(0, kMaxQuoted));
  for (char& c : result)
    if (c < ' ' || c > '~') c = c == '\t' ? ' ' : '?';
  return "'" + result + (text.size() > kMaxQuoted ? "...'" : "'");
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto at = text.begin(); words.size() < kMaxWords;) {
    at = std::find_if_not(at, text.end(), is_blank);
    if (at == text.end()) break;
    const auto end = std::find_if(at, text.end(), is_blank);
    words.emplace_back(at, end);
    at = end;
  }
  return words;
}

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
  if (!click::parse(text, prefix)) return quoted(text) + " is not an IPv4 prefix such as 192.0.2.0/24";
  rule.low[field] = prefix.address;
  rule.high[field] = prefix.address | static_cast<uint32_t>(~uint64_t{0} >> 32 >> prefix.length);
  return "";
}

std::string parse_ports(const std::string_view* words, Field field, Rule& rule) {
  for (const auto& [word, limit] : {std::pair{words[0], &rule.low[field]}, std::pair{words[2], &rule.high[field]}})
    if (!parse_number(word, 10, kLargest[field], *limit)) return quoted(word) + " is not a port, 0 to 65535";
  if (words[1] != ":") return "expected ':' between the lowest and the highest port, not " + quoted(words[1]);
  if (rule.low[field] > rule.high[field])
    return format("its lowest %s, %u, is larger than the highest, %u", kFieldNames[field], rule.low[field],
                  rule.high[field]);
  return "";
}

}  // namespace

std::string parse_rule(std::string_view text, const Actions& actions, Rule& rule) {
  std::vector<std::string_view> words = words_of(text);
  if (words.size() < 9 || !words[0].starts_with('@'))
    return "expected @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK] [ACTION]";
  Rule result;
  for (const std::string& reason :
       {parse_prefix(words[0].substr(1), kSource, result), parse_prefix(words[1], kDestination, result),
        parse_ports(&words[2], kSourcePort, result), parse_ports(&words[5], kDestinationPort, result)})
    if (!reason.empty()) return reason;
  uint32_t protocol = 0, mask = 0;
  if (!parse_masked(words[8], 0xff, protocol, mask) || (mask != 0 && mask != 0xff))
    return quoted(words[8]) + " is not a protocol and its mask (0x00 or 0xFF), such as 0x06/0xFF";
  if (mask != 0) result.low[kProtocol] = result.high[kProtocol] = protocol;

  words.erase(words.begin(), words.begin() + 9);
  if (!words.empty() && words[0].find('/') != std::string_view::npos) {
    uint32_t flags = 0;
    if (!parse_masked(words[0], 0xffff, flags, mask))
      return quoted(words[0]) + " is not a value and mask of TCP flags, such as 0x0000/0x0200";
    words.erase(words.begin());
  }
  if (words.size() > 1) return quoted(words[1]) + " is left over after the action";
  const auto action = words.empty() ? actions.usual : actions.read(words[0]);
  if (!action && words.empty())
    return "it has no action (" + actions.expected + "), and there is no ACTION for such rules";
  if (!action) return quoted(words[0]) + " is not an action; there are " + actions.expected;
  result.next = *action;
  rule = result;
  return "";
}

std::vector<Rule> parse_rules(const std::string& name, std::string_view text, const Actions& actions,
                              std::vector<std::string>& errors) {
  std::vector<Rule> rules;
  size_t bad = 0, line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    line = line.substr(0, line.find('#'));
    while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty()) continue;

    Rule rule;
    const std::string reason = parse_rule(line, actions, rule);
    if (reason.empty()) {
      rules.push_back(rule);
    } else if (++bad <= kMaxErrors) {
      errors.push_back(
          format("%s:%zu: %s is not a rule: %s", name.c_str(), line_number, quoted(line).c_str(), reason.c_str()));
    }
  }
  if (bad > kMaxErrors) errors.push_back(format("%s: ... and %zu more", name.c_str(), bad - kMaxErrors));
  return rules;
}

std::vector<Rule> read_rule_file(const std::string& path, const Actions& actions, std::vector<std::string>& errors) {
  return parse_rules(path, read_text_file(path, "rule file"), actions, errors);
}

}  // namespace heddle::classifier
