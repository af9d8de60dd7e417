// The options of rules that ask for fields of headers (Suricata 7.0, 8.3, 8.4 and 8.6).

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.h"
#include "functions/nids/rule_numbers.h"

namespace heddle::nids {
namespace {

struct FieldOption {
  std::string_view name;
  Field field;
  uint32_t largest;
};
constexpr FieldOption kOptions[] = {{"ttl", Field::ttl, 255},
                                    {"tos", Field::tos, 255},
                                    {"id", Field::id, 65535},
                                    {"ip_proto", Field::ip_protocol, 255},
                                    {"fragbits", Field::fragment_bits, 7},
                                    {"fragoffset", Field::fragment_offset, 8191},
                                    {"sameip", Field::same_addresses, 1},
                                    {"seq", Field::sequence, UINT32_MAX},
                                    {"tcp.seq", Field::sequence, UINT32_MAX},
                                    {"ack", Field::acknowledgement, UINT32_MAX},
                                    {"tcp.ack", Field::acknowledgement, UINT32_MAX},
                                    {"window", Field::window, 65535},
                                    {"tcp.window", Field::window, 65535},
                                    {"flags", Field::tcp_flags, 255},
                                    {"tcp.flags", Field::tcp_flags, 255},
                                    {"itype", Field::icmp_type, 255},
                                    {"icode", Field::icmp_code, 255},
                                    {"icmp_id", Field::icmp_id, 65535},
                                    {"icmp_seq", Field::icmp_sequence, 65535}};

/** A letter and its bit. */
struct Letter {
  char letter;
  uint32_t bit;
};
// RFC 9293, 3.1: byte 13 of the header; 1 and 2 are Snort's names of CWR and ECE.
constexpr Letter kFlagLetters[] = {{'F', 1},  {'S', 2},  {'R', 4},  {'P', 8},   {'A', 16},
                                   {'U', 32}, {'E', 64}, {'2', 64}, {'C', 128}, {'1', 128}};
constexpr Letter kFragmentLetters[] = {{'M', 1}, {'D', 2}, {'R', 4}};  // RFC 791, 3.1: the upper bits of byte 6

/** Letters as bits, which `to` gets besides those that it has; false: one is none of them. */
bool add_letters(std::string_view text, std::span<const Letter> letters, uint32_t& to) {
  for (const char c : text) {
    const auto found = std::ranges::find(letters, c, &Letter::letter);
    if (found == letters.end()) return false;
    to |= found->bit;
  }
  return true;
}

/** Bits that are set and no others; with + before or behind them others may be, with * one of them will do, with ! one
 *  is clear. TCP's flags: 0 for none; behind a comma, those that do not matter. */
std::optional<Refusal> parse_bits(std::string_view name, std::string_view text, bool of_tcp, uint32_t largest,
                                  Ranges& values) {
  const std::span<const Letter> letters = of_tcp ? std::span<const Letter>(kFlagLetters) : kFragmentLetters;
  const Refusal refusal{std::string(name) + " " + in_quotes(text) + " is not letters of " +
                        (of_tcp ? "FSRPAUEC12, or 0, with at most one of + * ! and perhaps a comma and letters that do "
                                  "not matter"
                                : "MDR, with at most one of + * !")};
  const size_t comma = of_tcp ? text.find(',') : text.npos;
  std::string asked(trimmed(text.substr(0, comma)));
  uint32_t bits = 0, ignored = 0;
  if (comma != text.npos) {
    const std::string_view mask = trimmed(text.substr(comma + 1));
    if (mask.empty() || !add_letters(mask, letters, ignored)) return refusal;
  }
  char modifier = 0;
  for (const char c : {'+', '*', '!'})
    for (auto count = std::erase(asked, c); count > 0; --count)
      if (std::exchange(modifier, c) != 0) return refusal;
  asked = trimmed(asked);
  const bool none = of_tcp && asked == "0";
  if (asked.empty() || (!none && !add_letters(asked, letters, bits))) return refusal;
  std::vector<Ranges::Range> matching;
  for (uint32_t value = 0; value <= largest; ++value) {
    const uint32_t seen = value & ~ignored;
    const bool matches = bits == 0         ? (value == 0) != (modifier == '!') && modifier != '*'
                         : modifier == '+' ? (seen & bits) == bits
                         : modifier == '*' ? (seen & bits) != 0
                         : modifier == '!' ? (seen & bits) != bits
                                           : seen == bits;
    if (matches) matching.push_back({value, value});
  }
  values = Ranges(std::move(matching));
  if (values.empty()) return Refusal{std::string(name) + " " + in_quotes(text) + " matches nothing"};
  return std::nullopt;
}

/** One number, or, of `ip_proto`, a protocol's name. */
bool to_value(std::string_view text, Field field, uint32_t largest, uint32_t& number) {
  constexpr std::pair<std::string_view, uint32_t> kProtocols[] = {
      {"icmp", 1},        {"igmp", 2},       {"ipip", 4},        {"tcp", 6},       {"egp", 8},
      {"igp", 9},         {"udp", 17},       {"ipv6", 41},       {"rsvp", 46},     {"gre", 47},
      {"esp", 50},        {"ah", 51},        {"eigrp", 88},      {"ospf", 89},     {"pim", 103},
      {"vrrp", 112},      {"sctp", 132},     {"dccp", 33},       {"udplite", 136}, {"ipv6-icmp", 58},
      {"ipv6-route", 43}, {"ipv6-frag", 44}, {"ipv6-nonxt", 59}, {"ipv6-opts", 60}};
  if (to_any_number(text, number, 0u, largest)) return true;
  if (field != Field::ip_protocol) return false;
  const std::string lower = lower_case(trimmed(text));
  for (const auto& [name, value] : kProtocols)
    if (lower == name) number = value;
  return std::ranges::any_of(kProtocols, [&](const auto& one) { return one.first == lower; });
}

/** N, !N, <N, >N, <=N, >=N, or A<>B or A-B for what lies between both. */
std::optional<Refusal> parse_numbers(std::string_view name, std::string_view text, const FieldOption& option,
                                     Ranges& values) {
  const uint32_t largest = option.largest;
  const Refusal refusal{std::string(name) + " " + in_quotes(text) +
                        format(" is not a number, 0 to %u, !N, <N, >N, <=N, >=N, A<>B or A-B", largest)};
  std::string_view rest = trimmed(text);
  uint32_t low = 0, high = largest, number = 0;
  const auto is_value = [&](std::string_view one, uint32_t& to) { return to_value(one, option.field, largest, to); };
  const bool is_one = is_value(rest.substr(std::min(rest.find_first_not_of("!<>="), rest.size())), number);
  for (const std::string_view sign : {"<>", "-"}) {
    const size_t between = rest.find(sign);
    if (between == rest.npos || is_one) continue;  // names may have a dash
    if (!is_value(rest.substr(0, between), low) || !is_value(rest.substr(between + sign.size()), high)) return refusal;
    if (high < 2 || low > high - 2)
      return Refusal{std::string(name) + " " + in_quotes(text) + " leaves nothing between"};
    values = Ranges(low + 1, high - 1);
    return std::nullopt;
  }
  const char sign = rest.empty() ? '\0' : rest.front();
  if (sign == '!' || sign == '<' || sign == '>') rest.remove_prefix(1);
  const bool equal = rest.starts_with('=');
  if (equal) rest.remove_prefix(1);
  if (!is_value(rest, number)) return refusal;
  if ((sign == '<' && !equal && number == 0) || (sign == '>' && !equal && number == largest))
    return Refusal{std::string(name) + " " + in_quotes(text) + " matches nothing"};
  if (sign == '<') high = equal ? number : number - 1;
  if (sign == '>') low = equal ? number : number + 1;
  values = sign == '<' || sign == '>' ? Ranges(low, high) : Ranges(number, number);
  if (sign == '!') values = values.inverted(largest);
  return std::nullopt;
}

}  // namespace

bool is_field_option(std::string_view name) {
  return std::ranges::find(kOptions, name, &FieldOption::name) != std::end(kOptions);
}

std::optional<Refusal> parse_field(std::string_view name, std::string_view text, std::vector<FieldTest>& tests) {
  const FieldOption& option = *std::ranges::find(kOptions, name, &FieldOption::name);
  FieldTest test{option.field, Ranges(1, 1)};
  std::optional<Refusal> refusal;
  if (option.field == Field::same_addresses)
    refusal = text.empty() ? std::nullopt : std::optional(Refusal{"sameip has no value"});
  else if (option.field == Field::tcp_flags || option.field == Field::fragment_bits)
    refusal = parse_bits(name, text, option.field == Field::tcp_flags, option.largest, test.values);
  else
    refusal = parse_numbers(name, text, option, test.values);
  if (!refusal) tests.push_back(std::move(test));
  return refusal;
}

}  // namespace heddle::nids
