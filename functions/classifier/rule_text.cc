#include "functions/classifier/rule_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "click/values.h"
#include "core/error.h"
#include "core/text_file.h"
#include "functions/classifier/field.h"

namespace heddle::classifier {
namespace {

constexpr size_t kMaxWords = 80;  // of a rule
constexpr const char* kForm =
    "expected @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK] [FIELD=VALUE ...] "
    "[ACTION]";

bool parse_digits(std::string_view text, int base, uint32_t most, uint32_t& number) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value > most) return false;
  number = value;
  return true;
}

bool is_hexadecimal(std::string_view text) { return text.starts_with("0x") || text.starts_with("0X"); }

/** Two parts with `sign` between them. */
std::optional<std::array<std::string_view, 2>> split(std::string_view text, char sign) {
  const size_t at = text.find(sign);
  if (at == text.npos) return std::nullopt;
  return std::array{text.substr(0, at), text.substr(at + 1)};
}

/** 0x06/0xFF */
bool parse_masked(std::string_view text, uint32_t most, uint32_t& value, uint32_t& mask) {
  const auto parts = split(text, '/');
  return parts && std::ranges::all_of(*parts, is_hexadecimal) && parse_number((*parts)[0], most, value) &&
         parse_number((*parts)[1], most, mask);
}

std::string narrowed(Rule& rule, const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions)
    if (!narrow(rule, condition)) return "no packet can match it, for what it asks of the " + name_of(condition.place);
  return "";
}

std::string out_of_order(const std::string& what, uint32_t low, uint32_t high) {
  return format("its lowest %s, %u, is larger than the highest, %u", what.c_str(), low, high);
}

std::string narrowed_wide(Rule& rule, const WideRange& range) {
  return narrow_wide(rule, range) ? "" : "no packet can match it, for what it asks of the " + wide_name(range.first);
}

std::string address6(const std::array<uint32_t, 4>& words) {
  uint32_t bytes[4];
  std::ranges::transform(words, bytes, htonl);
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, bytes, text, sizeof text);
}

bool parse_address6(std::string_view text, std::array<uint32_t, 4>& words) {
  const std::string address(text);
  uint32_t bytes[4];
  if (address.size() >= INET6_ADDRSTRLEN || inet_pton(AF_INET6, address.c_str(), bytes) != 1) return false;
  std::ranges::transform(bytes, words.begin(), ntohl);
  return true;
}

/** 2001:db8::1-2001:db8::9 */
std::string parse_range6(const std::array<std::string_view, 2>& limits, Field field, Rule& rule) {
  WideRange range{place_of(field), {}, {}};
  for (const auto& [text, words] : {std::pair{limits[0], &range.low}, std::pair{limits[1], &range.high}})
    if (!parse_address6(text, *words)) return in_quotes(text) + " is not an IPv6 address, of which a range has two";
  if (range.low > range.high)
    return format("its lowest %s, %s, is larger than the highest, %s", kFieldNames[field], address6(range.low).c_str(),
                  address6(range.high).c_str());
  const std::string reason = narrowed(rule, {{kIpVersion, 255, 6, 6}});
  return reason.empty() ? narrowed_wide(rule, range) : reason;
}

std::string parse_addresses(std::string_view text, Field field, Rule& rule) {
  if (text.find(':') != text.npos) {
    if (const auto range = split(text, '-')) return parse_range6(*range, field, rule);
    const auto conditions = parse_prefix6(text, field);
    return conditions ? narrowed(rule, *conditions) : in_quotes(text) + " is not an IPv6 prefix such as 2001:db8::/32";
  }
  if (const auto range = split(text, '-')) {
    click::Ipv4Address low, high;
    if (!click::parse((*range)[0], low) || !click::parse((*range)[1], high))
      return in_quotes(text) + " is not a range of IPv4 addresses such as 192.0.2.1-192.0.2.9";
    rule.low[field] = low.value, rule.high[field] = high.value;
    if (low.value > high.value)
      return format("its lowest %s, %s, is larger than the highest, %s", kFieldNames[field], dotted(low.value).c_str(),
                    dotted(high.value).c_str());
    return "";
  }
  click::Ipv4Prefix prefix;
  if (!click::parse(text, prefix)) return in_quotes(text) + " is not an IPv4 prefix such as 192.0.2.0/24";
  rule.low[field] = prefix.address;
  rule.high[field] = prefix.address | static_cast<uint32_t>(~uint64_t{0} >> 32 >> prefix.length);
  return "";
}

std::string parse_ports(const std::string_view* words, Field field, Rule& rule) {
  for (const auto& [word, limit] : {std::pair{words[0], &rule.low[field]}, std::pair{words[2], &rule.high[field]}})
    if (!parse_digits(word, 10, kLargest[field], *limit)) return in_quotes(word) + " is not a port, 0 to 65535";
  if (words[1] != ":") return "expected ':' between the lowest and the highest port, not " + in_quotes(words[1]);
  return rule.low[field] > rule.high[field] ? out_of_order(kFieldNames[field], rule.low[field], rule.high[field]) : "";
}

/** What is wrong with a rule that has too few words. */
std::string what_is_missing(const std::vector<std::string_view>& words) {
  constexpr const char* kParts[] = {"source",
                                    "destination",
                                    "lowest source port",
                                    "':' of the source ports",
                                    "highest source port",
                                    "lowest destination port",
                                    "':' of the destination ports",
                                    "highest destination port",
                                    "protocol"};
  for (const size_t lowest : {2, 5})
    if (words.size() > lowest && words[lowest].find(':') != std::string_view::npos)
      return in_quotes(words[lowest]) + " is not the " + kParts[lowest] + ": blanks belong around the ':'; " + kForm;
  return std::string("it ends before the ") + kParts[words.size()] + "; " + kForm;
}

std::string parse_protocol(std::string_view text, Rule& rule) {
  uint32_t low = 0, high = 0, mask = 0;
  const auto range = split(text, '-');
  if (range && parse_digits((*range)[0], 10, 255, low) && parse_digits((*range)[1], 10, 255, high)) {
    rule.low[kProtocol] = low, rule.high[kProtocol] = high;
    return low > high ? out_of_order(kFieldNames[kProtocol], low, high) : "";
  }
  if (!parse_masked(text, 0xff, low, mask) || (mask != 0 && mask != 0xff))
    return in_quotes(text) +
           " is not a protocol and its mask (0x00 or 0xFF), such as 0x06/0xFF, nor a range such as 6-17";
  if (mask != 0) rule.low[kProtocol] = rule.high[kProtocol] = low;
  return "";
}

/** 32 hexadecimal digits behind 0x. */
bool parse_wide(std::string_view text, std::array<uint32_t, 4>& words) {
  if (!is_hexadecimal(text) || text.size() != 34) return false;
  for (size_t w = 0; w < 4; ++w)
    if (!parse_digits(text.substr(2 + 8 * w, 8), 16, ~0u, words[w])) return false;
  return true;
}

std::string parse_wide_value(const std::vector<Place>& places, std::string_view text, Rule& rule) {
  std::array<uint32_t, 4> value, mask{~0u, ~0u, ~0u, ~0u};
  const auto parts = split(text, '/'), range = split(text, '-');
  const auto first = range ? (*range)[0] : parts ? (*parts)[0] : text;
  if (!parse_wide(first, value) || ((parts || range) && !parse_wide((range ? *range : *parts)[1], mask)))
    return in_quotes(text) + " is not 0x and 32 hexadecimal digits, or two such with '-' or '/' between them";
  if (range && value > mask)
    return format("its lowest %s is larger than the highest: '%.*s'", wide_name(places[0]).c_str(),
                  static_cast<int>(text.size()), text.data());
  std::vector<Condition> conditions;
  if (places[0].kind == Place::field) conditions.push_back({kIpVersion, 255, 6, 6});
  if (range) {
    const std::string reason = narrowed(rule, conditions);
    return reason.empty() ? narrowed_wide(rule, WideRange{places[0], value, mask}) : reason;
  }
  for (size_t w = 0; w < 4; ++w) conditions.push_back({places[w], mask[w], value[w] & mask[w], value[w] & mask[w]});
  return narrowed(rule, conditions);
}

/** All words of an IPv6 address, which is "source6[0/16]" or "destination6[0/16]" where it is no address of the rule's
 *  own. */
std::optional<std::vector<Place>> parse_whole_address(std::string_view name) {
  for (const Field field : {kSource, kDestination})
    if (name == wide_name(place_of(field)))
      return std::vector{place_of(field), word_of(field, 1), word_of(field, 2), word_of(field, 3)};
  return std::nullopt;
}

/** FIELD=VALUE */
std::string parse_field(std::string_view word, Rule& rule) {
  const auto [name, text] = *split(word, '=');
  auto places = parse_places(name);
  if (!places) places = parse_whole_address(name);
  if (!places || (places->size() > 1 && name == "ip6"))
    return in_quotes(name) + " is not a field; there are " + kPlaceNames;
  if (places->size() > 1) return parse_wide_value(*places, text, rule);
  const Place place = places->front();
  const uint32_t most = place.largest();
  Condition condition{place, most, 0, 0};
  const auto range = split(text, '-'), masked = split(text, '/');
  const bool right =
      range    ? parse_number((*range)[0], most, condition.low) && parse_number((*range)[1], most, condition.high)
      : masked ? parse_number((*masked)[0], most, condition.low) && parse_number((*masked)[1], most, condition.mask)
               : parse_number(text, most, condition.low);
  if (!right)
    return in_quotes(text) + format(" is not VALUE, LOW-HIGH or VALUE/MASK of numbers up to 0x%x, which ", most) +
           name_of(place) + " has";
  if (range && condition.low > condition.high) return out_of_order(name_of(place), condition.low, condition.high);
  if (!range) condition.low = condition.high = condition.low & condition.mask;
  if (name == "flags") return narrowed(rule, {condition, {place_of(kProtocol), 255, 6, 6}});
  return narrowed(rule, {condition});
}

bool is_prefix(uint32_t low, uint32_t high) {
  const uint32_t host = low ^ high;
  return (host & (host + 1)) == 0 && (low & host) == 0;
}

/** Takes the conditions on an IPv6 address out of `more` if they are a prefix; its text, or "". */
std::string take_prefix6(const Rule& rule, Field field, std::vector<Condition>& more) {
  uint32_t words[4] = {rule.low[field], 0, 0, 0};
  if (!is_prefix(rule.low[field], rule.high[field])) return "";
  int length = 32 - std::bit_width(rule.low[field] ^ rule.high[field]);
  std::vector<Condition> rest;
  for (const Condition& condition : more) {
    const int word = condition.place.kind == word_of(field, 1).kind ? condition.place.offset / 4 : 0;
    if (word == 0) {
      rest.push_back(condition);
      continue;
    }
    if (length != 32 * word || condition.mask != ~0u || !is_prefix(condition.low, condition.high)) return "";
    words[word] = condition.low;
    length += 32 - std::bit_width(condition.low ^ condition.high);
  }
  more = rest;
  for (uint32_t& word : words) word = htonl(word);
  char text[INET6_ADDRSTRLEN];
  return format("%s/%d", inet_ntop(AF_INET6, words, text, sizeof text), length);
}

std::string address_text(const Rule& rule, Field field) {
  const uint32_t low = rule.low[field], high = rule.high[field];
  if (!is_prefix(low, high)) return dotted(low) + "-" + dotted(high);
  return format("%s/%d", dotted(low).c_str(), 32 - std::bit_width(low ^ high));
}

std::string wide_text(const WideRange& range) {
  std::string text = " " + wide_name(range.first) + "=0x";
  for (const uint32_t word : range.low) text += format("%08x", word);
  text += "-0x";
  for (const uint32_t word : range.high) text += format("%08x", word);
  return text;
}

/** `of_tcp`: the rule is one of TCP alone, which "flags" would make it. */
std::string condition_text(const Condition& condition, bool of_tcp) {
  const std::string name = condition.place == kTcpFlags && !of_tcp ? "transport[13/1]" : name_of(condition.place);
  if (condition.mask != condition.place.largest())
    return format(" %s=0x%x/0x%x", name.c_str(), condition.low, condition.mask);
  if (condition.low == condition.high) return format(" %s=%u", name.c_str(), condition.low);
  return format(" %s=%u-%u", name.c_str(), condition.low, condition.high);
}

}  // namespace

std::optional<uint32_t> protocol_named(std::string_view text) {
  constexpr std::pair<const char*, uint32_t> kKnown[] = {
      {"icmp", 1}, {"tcp", 6},    {"udp", 17},      {"dccp", 33},   {"gre", 47},      {"esp", 50},
      {"ah", 51},  {"sctp", 132}, {"udplite", 136}, {"icmpv6", 58}, {"ipv6-icmp", 58}};
  for (const auto& [name, value] : kKnown)
    if (text == name) return value;
  return std::nullopt;
}

std::string dotted(uint32_t address) { return click::to_text(click::Ipv4Address{address}); }

bool parse_number(std::string_view text, uint32_t most, uint32_t& number) {
  return is_hexadecimal(text) ? parse_digits(text.substr(2), 16, most, number) : parse_digits(text, 10, most, number);
}

std::vector<Condition> prefix6(const uint8_t (&address)[16], int length, Field field) {
  std::vector<Condition> result{{kIpVersion, 255, 6, 6}};
  for (int word = 0; word < 4; ++word) {
    const int bits = std::clamp(length - 32 * word, 0, 32);
    const auto mask = static_cast<uint32_t>(~(~uint64_t{0} >> 32 >> bits));
    uint32_t value = 0;
    for (int byte = 0; byte < 4; ++byte) value = value << 8 | address[4 * word + byte];
    if (bits > 0)
      result.push_back({word == 0 ? place_of(field) : word_of(field, word), mask, value & mask, value & mask});
  }
  return result;
}

std::optional<std::vector<Condition>> parse_prefix6(std::string_view text, Field field) {
  const auto parts = split(text, '/');
  const std::string address(parts ? (*parts)[0] : text);
  uint32_t length = 128;
  uint8_t bytes[16];
  if (address.size() >= INET6_ADDRSTRLEN || inet_pton(AF_INET6, address.c_str(), bytes) != 1) return std::nullopt;
  if (parts && !parse_digits((*parts)[1], 10, 128, length)) return std::nullopt;
  return prefix6(bytes, static_cast<int>(length), field);
}

std::string parse_rule(std::string_view text, const Actions& actions, Rule& rule) {
  std::vector<std::string_view> words = heddle::words_of(text, kMaxWords + 1);
  if (words.empty() || !words[0].starts_with('@')) return kForm;
  if (words.size() < 9) return what_is_missing(words);
  if (words.size() > kMaxWords) return format("it has more than %zu words", kMaxWords);
  Rule result;
  for (const std::string& reason :
       {parse_addresses(words[0].substr(1), kSource, result), parse_addresses(words[1], kDestination, result),
        parse_ports(&words[2], kSourcePort, result), parse_ports(&words[5], kDestinationPort, result),
        parse_protocol(words[8], result)})
    if (!reason.empty()) return reason;
  // 0.0.0.0/0 is any address, of IPv6 as well.
  const bool source6 = words[0].find(':') != words[0].npos, destination6 = words[1].find(':') != words[1].npos;
  const Field dotted = source6 ? kDestination : kSource;
  if (source6 != destination6 && (result.low[dotted] != 0 || result.high[dotted] != ~0u))
    return "no packet can match it, for one of its addresses is of IPv4, the other of IPv6";

  words.erase(words.begin(), words.begin() + 9);
  const auto is_field = [](std::string_view word) { return word.find('=') != word.npos; };
  if (!words.empty() && !is_field(words[0]) && words[0].find('/') != std::string_view::npos) {
    uint32_t flags = 0, mask = 0;
    if (!parse_masked(words[0], 0xffff, flags, mask))
      return in_quotes(words[0]) + " is not a value and mask of TCP flags, such as 0x0000/0x0200";
    words.erase(words.begin());
  }
  try {
    for (; !words.empty() && is_field(words[0]); words.erase(words.begin()))
      if (const std::string reason = parse_field(words[0], result); !reason.empty()) return reason;
    check_count(places_of(result).size());
    if (parts(result).empty()) return "no packet can match it, for what it asks of " + wide_name(result.wide[0].first);
  } catch (const Error& error) {
    return error.what();
  }
  if (words.size() > 1) return in_quotes(words[1]) + " is left over after the action";
  const auto action = words.empty() ? actions.usual : actions.read(words[0]);
  if (!action && words.empty()) return no_action(actions);
  if (!action) return in_quotes(words[0]) + " is not an action; there are " + actions.expected;
  result.next = *action;
  rule = result;
  return "";
}

std::string no_action(const Actions& actions) {
  return "it has no action (" + actions.expected + "), and there is no ACTION for such rules";
}

std::string text_of(const Rule& rule, std::string_view action) {
  std::vector<Condition> more = rule.more;
  std::vector<WideRange> wide = rule.wide;
  std::string addresses[2];
  const auto version = std::ranges::find(more, kIpVersion, &Condition::place);
  if (version != more.end() && version->low == 6 && version->high == 6) {
    std::vector<Condition> rest = more;
    for (const Field field : {kSource, kDestination}) addresses[field] = take_prefix6(rule, field, rest);
    if (!addresses[kSource].empty() && !addresses[kDestination].empty()) {
      std::erase_if(rest, [](const Condition& condition) { return condition.place == kIpVersion; });
      more = rest;
      for (const WideRange& range : rule.wide)
        if (range.first.kind == Place::field && addresses[range.first.offset] == "::/0") {
          addresses[range.first.offset] = address6(range.low) + "-" + address6(range.high);
          std::erase(wide, range);
        }
    }
  }
  if (addresses[kSource].empty() || addresses[kDestination].empty())
    for (const Field field : {kSource, kDestination}) addresses[field] = address_text(rule, field);
  const uint32_t first = rule.low[kProtocol], last = rule.high[kProtocol];
  std::string text =
      format("@%s %s %u : %u %u : %u ", addresses[0].c_str(), addresses[1].c_str(), rule.low[kSourcePort],
             rule.high[kSourcePort], rule.low[kDestinationPort], rule.high[kDestinationPort]);
  text += first == last                ? format("0x%02x/0xFF", first)
          : first == 0 && last == 0xff ? "0x00/0x00"
                                       : format("%u-%u", first, last);
  for (const Condition& condition : more) text += condition_text(condition, first == 6 && last == 6);
  for (const WideRange& range : wide) text += wide_text(range);
  return action.empty() ? text : text + " " + std::string(action);
}

}  // namespace heddle::classifier
