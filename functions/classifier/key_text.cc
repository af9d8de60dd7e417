#include "functions/classifier/key_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "click/values.h"
#include "core/error.h"
#include "core/text_file.h"
#include "functions/classifier/rule_text.h"

namespace heddle::classifier {
namespace {

constexpr const char* kExpected = "expected SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT PROTOCOL [FIELD=VALUE ...]";

/** Values, of which those that the layout has are kept. */
class Values {
 public:
  explicit Values(const Layout& layout) : layout_(layout), values_(kFields + layout.size()) {}

  bool has(const Place& place) const { return find(layout_, place).has_value(); }
  void set(const Place& place, uint32_t value) {
    if (const auto at = find(layout_, place)) values_[kFields + *at] = value;
  }
  void set(Field field, uint32_t value) {
    values_[field] = value;
    set(place_of(field), value);
  }
  std::vector<uint32_t> take() { return std::move(values_); }

 private:
  const Layout& layout_;
  std::vector<uint32_t> values_;
};

void read_address(std::string_view word, Field field, Values& values) {
  if (word.find(':') == word.npos) {
    values.set(field, click::value_of<click::Ipv4Address>(word).value);
    values.set(kIpVersion, 4);
    return;
  }
  const auto conditions = parse_prefix6(word, field);
  if (!conditions || word.find('/') != word.npos) throw Error(in_quotes(word) + " is not an IPv6 address");
  if (!values.has(kIpVersion)) throw Error(in_quotes(word) + " is an IPv6 address, and the rules look at IPv4 only");
  for (const Condition& condition : *conditions)
    if (condition.place.kind == Place::field)
      values.set(field, condition.low);
    else
      values.set(condition.place, condition.low);
}

void read_field(std::string_view word, Values& values) {
  const size_t sign = word.find('=');
  const auto places = parse_places(word.substr(0, sign));
  if (sign == word.npos || !places || places->size() > 1)
    throw Error(in_quotes(word) + " is not FIELD=VALUE; there are " + kPlaceNames);
  uint32_t value = 0;
  if (!parse_number(word.substr(sign + 1), places->front().largest(), value))
    throw Error(in_quotes(word) + format(": the value is not a number up to %u", places->front().largest()));
  if (places->front().kind == Place::field)
    values.set(static_cast<Field>(places->front().offset), value);
  else
    values.set(places->front(), value);
}

uint32_t read_protocol(std::string_view word) {
  uint32_t number = 0;
  if (parse_number(word, kLargest[kProtocol], number)) return number;
  if (const auto known = protocol_named(word)) return *known;
  throw Error(in_quotes(word) +
              " is not a protocol: expected a number from 0 to 255, or tcp, udp, icmp, icmpv6, sctp, "
              "dccp, udplite, gre, esp or ah");
}

std::array<uint32_t, 4> words_at(const Place& first, const std::vector<uint32_t>& values, const Layout& layout) {
  std::array<uint32_t, 4> words{};
  for (size_t w = 0; w < 4; ++w) {
    const Place place = word_of(first, static_cast<int>(w));
    const auto at = find(layout, place);
    words[w] = place.kind == Place::field ? values[place.offset] : at ? values[kFields + *at] : 0;
  }
  return words;
}

bool is_within(const WideRange& range, const std::array<uint32_t, 4>& words) {
  return range.low <= words && words <= range.high;
}

std::string wide_number(const std::array<uint32_t, 4>& words) {
  return format("0x%08x%08x%08x%08x", words[0], words[1], words[2], words[3]);
}

std::string value_text(uint32_t field, uint32_t value) {
  return field <= kDestination ? dotted(value) : std::to_string(value);
}

}  // namespace

std::vector<uint32_t> parse_key(std::string_view text, const Layout& layout) {
  const auto words = heddle::words_of(text);
  if (words.size() < kFields) throw Error(kExpected);
  Values values(layout);
  for (const Field field : {kSource, kDestination}) read_address(words[field], field, values);
  if ((words[0].find(':') == words[0].npos) != (words[1].find(':') == words[1].npos))
    throw Error("one address is of IPv4, the other of IPv6");
  for (const Field field : {kSourcePort, kDestinationPort})
    values.set(field, click::value_of<uint32_t>(words[field], 0u, kLargest[field]));
  values.set(kProtocol, read_protocol(words[kProtocol]));
  for (size_t w = kFields; w < words.size(); ++w) {
    if (words[w].find('=') == std::string_view::npos) throw Error(kExpected);
    read_field(words[w], values);
  }
  return values.take();
}

std::string text_of_key(const std::vector<uint32_t>& values, const Layout& layout) {
  const auto version = find(layout, kIpVersion);
  const bool is_ip6 = version && values[kFields + *version] == 6;
  std::string text, fields;
  for (const Field field : {kSource, kDestination}) {
    uint32_t words[4] = {htonl(values[field]), 0, 0, 0};
    for (int word = 1; word < 4; ++word)
      if (const auto at = find(layout, word_of(field, word))) words[word] = htonl(values[kFields + *at]);
    char address[INET6_ADDRSTRLEN];
    text += (is_ip6 ? inet_ntop(AF_INET6, words, address, sizeof address) : dotted(values[field])) + std::string(" ");
  }
  text += format("%u %u %u", values[kSourcePort], values[kDestinationPort], values[kProtocol]);
  for (size_t p = 0; p < layout.size(); ++p)
    if (layout[p].kind > Place::destination6) text += " " + name_of(layout[p]) + format("=%u", values[kFields + p]);
  return text;
}

std::string why_not(const Rule& rule, const std::vector<uint32_t>& values, const Layout& layout) {
  for (size_t p = 0; p < layout.size(); ++p)
    for (const Condition& condition : rule.more)
      if (condition.place == kIpVersion && condition.place == layout[p] && !condition.holds(values[kFields + p]))
        return format("version %u is not %u", values[kFields + p], condition.low);
  for (uint32_t f = 0; f < kFields; ++f)
    if (values[f] < rule.low[f] || values[f] > rule.high[f]) {
      const std::string low = value_text(f, rule.low[f]), high = value_text(f, rule.high[f]);
      return kFieldNames[f] + (" " + value_text(f, values[f])) + " is not " + low + (low == high ? "" : " to " + high);
    }
  for (const Condition& condition : rule.more) {
    const auto at = find(layout, condition.place);
    const uint32_t value = at ? values[kFields + *at] : 0;
    if (condition.holds(value)) continue;
    const std::string name = name_of(condition.place);
    if (condition.mask != condition.place.largest())
      return name + format(" 0x%x is not 0x%x in the bits 0x%x", value, condition.low, condition.mask);
    return name + format(" %u is not %u", value, condition.low) +
           (condition.low == condition.high ? "" : format(" to %u", condition.high));
  }
  for (const WideRange& range : rule.wide)
    if (const auto words = words_at(range.first, values, layout); !is_within(range, words))
      return wide_name(range.first) + " " + wide_number(words) + " is not " + wide_number(range.low) + " to " +
             wide_number(range.high);
  return "";
}

bool matches(const Rule& rule, const std::vector<uint32_t>& values, const Layout& layout) {
  for (size_t f = 0; f < kFields; ++f)
    if (values[f] < rule.low[f] || values[f] > rule.high[f]) return false;
  const bool all_hold = std::ranges::all_of(rule.more, [&](const Condition& condition) {
    const auto at = find(layout, condition.place);
    return condition.holds(at ? values[kFields + *at] : 0);
  });
  return all_hold && std::ranges::all_of(rule.wide, [&](const WideRange& range) {
           return is_within(range, words_at(range.first, values, layout));
         });
}

}  // namespace heddle::classifier
