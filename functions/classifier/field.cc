#include "functions/classifier/field.h"

#include <algorithm>
#include <bit>

#include "click/values.h"
#include "core/error.h"

namespace heddle::classifier {
namespace {

constexpr uint16_t kMaxOffset = 2047;

struct Base {
  const char* name;
  Place::Kind kind;
};
constexpr Base kBases[] = {{"frame", Place::frame},
                           {"ip", Place::network},
                           {"transport", Place::transport},
                           {"source6", Place::source6},
                           {"destination6", Place::destination6}};
struct Named {
  const char* name;
  Place place;
};
constexpr Named kNamed[] = {{"flags", kTcpFlags},
                            {"vlan", kVlan},
                            {"paint", kPaint},
                            {"version", kIpVersion},
                            {"source", place_of(kSource)},
                            {"destination", place_of(kDestination)},
                            {"sport", place_of(kSourcePort)},
                            {"dport", place_of(kDestinationPort)},
                            {"protocol", place_of(kProtocol)}};

/** ip[6/2] */
std::optional<std::vector<Place>> parse_bytes(std::string_view text) {
  for (const auto& [name, kind] : kBases) {
    std::string_view rest = text;
    if (!rest.starts_with(name)) continue;
    rest.remove_prefix(std::string_view(name).size());
    const size_t slash = rest.find('/');
    uint16_t offset = 0, length = 0;
    if (!rest.starts_with('[') || !rest.ends_with(']') || slash == rest.npos) return std::nullopt;
    if (!click::parse(rest.substr(1, slash - 1), offset, uint16_t{0}, kMaxOffset) ||
        !click::parse(rest.substr(slash + 1, rest.size() - slash - 2), length, uint16_t{1}, uint16_t{16}))
      return std::nullopt;
    const bool is_address = kind == Place::source6 || kind == Place::destination6;
    if (is_address && (length != 4 || (offset != 4 && offset != 8 && offset != 12))) return std::nullopt;
    if (length == 16) {
      std::vector<Place> words;
      for (uint16_t at = 0; at < 16; at += 4) words.push_back({kind, 4, static_cast<uint16_t>(offset + at)});
      return words;
    }
    if (std::popcount(length) != 1 || length > 4) return std::nullopt;
    return std::vector<Place>{{kind, static_cast<uint8_t>(length), offset}};
  }
  return std::nullopt;
}

bool is_range(const Condition& condition) { return condition.mask == condition.place.largest(); }
bool is_one_value(const Condition& condition) { return condition.low == condition.high; }

bool narrow_field(Rule& rule, Field field, uint32_t low, uint32_t high) {
  rule.low[field] = std::max(rule.low[field], low);
  rule.high[field] = std::min(rule.high[field], high);
  return rule.low[field] <= rule.high[field];
}

/** A prefix's range as bits that are to have a value; other ranges stay. */
Condition as_bits(const Condition& condition) {
  const uint32_t host = condition.low ^ condition.high;
  if (!is_range(condition) || (host & (host + 1)) != 0 || (condition.low & host) != 0) return condition;
  return {condition.place, condition.mask & ~host, condition.low, condition.low};
}

/** What is left of a range behind words that are equal to those of `low` (from_low) or `high` (to_high): conditions on
 *  its words from `word` on, added to `box`, which lists grow by. */
void add_boxes(const WideRange& range, int word, bool from_low, bool to_high, std::vector<Condition> box,
               std::vector<std::vector<Condition>>& boxes) {
  if (word == 4 || (!from_low && !to_high)) return boxes.push_back(std::move(box));
  const auto at = static_cast<size_t>(word);
  const auto rest = [&](const std::array<uint32_t, 4>& words, uint32_t value) {
    return std::any_of(words.begin() + word + 1, words.end(), [&](uint32_t one) { return one != value; });
  };
  const bool low_goes_on = from_low && rest(range.low, 0), high_goes_on = to_high && rest(range.high, ~0u);
  const auto with = [&](uint32_t low, uint32_t high) {
    auto result = box;
    result.push_back({word_of(range.first, word), ~0u, low, high});
    return result;
  };
  uint64_t low = from_low ? range.low[at] : 0;
  int64_t high = to_high ? range.high[at] : ~0u;
  if (from_low && to_high && range.low[at] == range.high[at])
    return add_boxes(range, word + 1, low_goes_on, high_goes_on, with(range.low[at], range.low[at]), boxes);
  if (low_goes_on) add_boxes(range, word + 1, true, false, with(range.low[at], range.low[at]), boxes), ++low;
  if (high_goes_on) add_boxes(range, word + 1, false, true, with(range.high[at], range.high[at]), boxes), --high;
  if (static_cast<int64_t>(low) <= high) boxes.push_back(with(static_cast<uint32_t>(low), static_cast<uint32_t>(high)));
}

/** Makes `one` what both ask for. */
bool join(Condition& one, const Condition& other) {
  if (is_range(one) && is_range(other)) {
    one.low = std::max(one.low, other.low);
    one.high = std::min(one.high, other.high);
    return one.low <= one.high;
  }
  const Condition first = as_bits(one), second = as_bits(other);
  if (!is_one_value(first) || !is_one_value(second))
    throw Error(format("a range and a mask of the same field, %s, in one rule; give it two rules, or two fields",
                       name_of(one.place).c_str()));
  const uint32_t common = first.mask & second.mask;
  if ((first.low & common) != (second.low & common)) return false;
  one = canonical({one.place, first.mask | second.mask, first.low | second.low, first.low | second.low});
  return true;
}

}  // namespace

std::string name_of(const Place& place) {
  for (const auto& named : kNamed)
    if (named.place == place) return named.name;
  for (const auto& base : kBases)
    if (base.kind == place.kind) return format("%s[%u/%u]", base.name, place.offset, place.length);
  return "?";
}

std::string wide_name(const Place& first) {
  if (first.kind == Place::field) return first.offset == kSource ? "source6[0/16]" : "destination6[0/16]";
  const std::string name = name_of(first);
  return name.substr(0, name.find('/')) + "/16]";
}

std::optional<std::vector<Place>> parse_places(std::string_view text) {
  for (const auto& named : kNamed)
    if (text == named.name) return std::vector{named.place};
  if (text == "ip6") {
    std::vector<Place> all{kIpVersion};
    for (const Field field : {kSource, kDestination})
      for (int word = 1; word < 4; ++word) all.push_back(word_of(field, word));
    return all;
  }
  return parse_bytes(text);
}

Condition canonical(Condition condition) {
  const uint32_t largest = condition.place.largest();
  condition.mask &= largest;
  const uint32_t host = largest & ~condition.mask;
  if (host != 0 && (host & (host + 1)) == 0 && is_one_value(condition))
    return {condition.place, largest, condition.low, condition.low | host};
  return condition;
}

bool narrow(Rule& rule, const Condition& wanted) {
  const Condition condition = canonical(wanted);
  if (condition.low > condition.high) return false;
  if (condition.place.kind == Place::field && is_range(condition))
    return narrow_field(rule, static_cast<Field>(condition.place.offset), condition.low, condition.high);
  if (condition.mask == 0 || (is_range(condition) && condition.low == 0 && condition.high == condition.mask))
    return condition.low == 0;
  const auto at = std::ranges::lower_bound(rule.more, condition.place, {}, &Condition::place);
  if (at != rule.more.end() && at->place == condition.place) return join(*at, condition);
  rule.more.insert(at, condition);
  return true;
}

bool narrow_wide(Rule& rule, const WideRange& range) {
  if (range.low > range.high) return false;
  const auto at = std::ranges::lower_bound(rule.wide, range.first, {}, &WideRange::first);
  if (at == rule.wide.end() || at->first != range.first) {
    rule.wide.insert(at, range);
    return true;
  }
  at->low = std::max(at->low, range.low), at->high = std::min(at->high, range.high);
  return at->low <= at->high;
}

std::vector<Rule> parts(const Rule& rule) {
  if (rule.wide.empty()) return {rule};
  std::vector<Rule> result{rule};
  result[0].wide.clear();
  for (const WideRange& range : rule.wide) {
    std::vector<std::vector<Condition>> boxes;
    add_boxes(range, 0, true, true, {}, boxes);
    if (result.size() * boxes.size() > kMaxParts)
      throw Error(
          format("its ranges of 16 bytes are more than %zu ranges of 4 bytes together; give it fewer, or values "
                 "and masks",
                 kMaxParts));
    std::vector<Rule> narrower;
    for (const Rule& one : result)
      for (const auto& box : boxes)
        if (Rule part = one; std::ranges::all_of(box, [&](const Condition& asked) { return narrow(part, asked); }))
          narrower.push_back(std::move(part));
    result = std::move(narrower);
  }
  return result;
}

std::vector<Condition> negated(const Condition& wanted) {
  const Condition condition = canonical(wanted);
  std::vector<Condition> result;
  if (is_range(condition)) {
    if (condition.low > 0) result.push_back({condition.place, condition.mask, 0, condition.low - 1});
    if (condition.high < condition.mask)
      result.push_back({condition.place, condition.mask, condition.high + 1, condition.mask});
    return result;
  }
  for (uint32_t left = condition.mask; left != 0; left &= left - 1) {  // one bit at least differs
    const uint32_t bit = left & -left, value = ~condition.low & bit;
    result.push_back(canonical({condition.place, bit, value, value}));
  }
  return result;
}

std::vector<Place> places_of(const Rule& rule) {
  std::vector<Place> places;
  for (const Condition& condition : rule.more) places.push_back(condition.place);
  for (const WideRange& range : rule.wide)
    for (int word = 0; word < 4; ++word)
      if (const Place place = word_of(range.first, word); place.kind != Place::field) places.push_back(place);
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

Versions versions_of(const Layout& layout) {
  if (find(layout, kIpVersion)) return Versions::both;
  const bool any = std::ranges::any_of(layout, [](const Place& place) {
    return place.kind == Place::frame || (place.kind == Place::network && place.offset == 0);
  });
  return any ? Versions::any : Versions::ip4;
}

void check_count(size_t places) {
  if (places > kMaxPlaces)
    throw Error(format("%zu fields beside addresses, ports and protocol are asked for, more than %zu; take some away",
                       places, kMaxPlaces));
}

void add_places(Layout& layout, const Rule& rule) {
  for (const Place& place : places_of(rule)) {
    const auto at = std::ranges::lower_bound(layout, place);
    if (at == layout.end() || *at != place) layout.insert(at, place);
  }
}

void complete(Rule& rule, const Layout& layout) {
  if (!find(layout, kIpVersion) || std::ranges::find(rule.more, kIpVersion, &Condition::place) != rule.more.end())
    return;
  const auto asks_for = [&](Field field) {
    return rule.low[field] != 0 || rule.high[field] != ~0u ||
           std::ranges::find(rule.more, place_of(field), &Condition::place) != rule.more.end();
  };
  if (asks_for(kSource) || asks_for(kDestination)) narrow(rule, {kIpVersion, 255, 4, 4});
}

void check_places(const Rule& rule, const Layout& layout) {
  for (const Place& place : places_of(rule))
    if (!find(layout, place)) {
      const bool is_ip6 = place.kind == Place::source6 || place.kind == Place::destination6 || place == kIpVersion;
      const std::string name = is_ip6 ? "ip6" : name_of(place);
      throw Error("it asks for " + name +
                  ", at which none of the rules looked at the start; give the element FIELDS \"" + name + "\"");
    }
}

std::optional<size_t> find(const Layout& layout, const Place& place) {
  const auto at = std::ranges::lower_bound(layout, place);
  if (at == layout.end() || *at != place) return std::nullopt;
  return static_cast<size_t>(at - layout.begin());
}

}  // namespace heddle::classifier
