#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** The name of a place as rules write it: "flags", "vlan", "transport[0/1]", ... */
std::string name_of(const Place& place);
/** Reads such a name, which may also be that of several places: ip6, and OFFSET/16. Nothing if it is none;
 *  `kPlaceNames` says what there is. */
std::optional<std::vector<Place>> parse_places(std::string_view text);
constexpr const char* kPlaceNames =
    "flags, vlan, paint, version, ip6, source, destination, sport, dport, protocol, frame[OFFSET/LENGTH], "
    "ip[OFFSET/LENGTH], transport[OFFSET/LENGTH] (LENGTH 1, 2, 4 or 16), source6[OFFSET/4] and destination6[OFFSET/4] "
    "(OFFSET 4, 8 or 12)";

constexpr Place place_of(Field field) {
  return {Place::field,
          static_cast<uint8_t>(field < kSourcePort ? 4
                               : field < kProtocol ? 2
                                                   : 1),
          static_cast<uint16_t>(field)};
}
/** Word 1 to 3 of an IPv6 address, whose word 0 is the field's value. */
constexpr Place word_of(Field field, int word) {
  return {field == kSource ? Place::source6 : Place::destination6, 4, static_cast<uint16_t>(4 * word)};
}

/** The place of word 0 to 3 of the 16 bytes that begin at `first`. */
constexpr Place word_of(const Place& first, int word) {
  if (first.kind != Place::field) return {first.kind, 4, static_cast<uint16_t>(first.offset + 4 * word)};
  return word == 0 ? first : word_of(static_cast<Field>(first.offset), word);
}
/** The name of those bytes: "frame[20/16]", "source6[0/16]". */
std::string wide_name(const Place& first);

/** Asks `rule` for `condition` as well. False if nothing can match then; `rule` is undefined. Throws Error if one rule
 *  cannot hold both of two conditions: a range and a mask of the same field. */
bool narrow(Rule& rule, const Condition& condition);

/** The same for a range of 16 bytes. */
bool narrow_wide(Rule& rule, const WideRange& range);
/** Rules without ranges of 16 bytes, no two of which match the same key, that match together what `rule` does: up to 7
 *  for each such range. Throws Error if they are more than kMaxParts, or one field has a range and a mask. */
std::vector<Rule> parts(const Rule& rule);
constexpr size_t kMaxParts = 512;

/** The same condition with what a prefix says as a range. */
Condition canonical(Condition condition);
/** Conditions of which a value fulfils one or another just when it does not fulfil this one. */
std::vector<Condition> negated(const Condition& condition);

/** Different places of some rules, ascending: what an element looks at beside the 5-tuple. */
using Layout = std::vector<Place>;
constexpr size_t kMaxPlaces = 32;
/** Those that a rule looks at, ascending. */
std::vector<Place> places_of(const Rule& rule);
/** Which packets rules that look at `layout` tell apart. Where they look at bytes that may be of any protocol (of the
 *  frame, or the one with the version), what is not of IPv4 has a 5-tuple of zeros. */
Versions versions_of(const Layout& layout);
/** Throws Error if one rule or all of a set ask for more places than kMaxPlaces. */
void check_count(size_t places);
void add_places(Layout& layout, const Rule& rule);
/** In a layout with the place `version`, a rule that asks for IPv4 addresses and no version gets version 4: the values
 *  of an IPv6 packet's addresses are numbers, too. */
void complete(Rule& rule, const Layout& layout);
/** Throws Error, which names FIELDS as the remedy, if the rule asks for a place that the layout does not have. */
void check_places(const Rule& rule, const Layout& layout);
/** The place among those of the layout; nothing if it is not there. */
std::optional<size_t> find(const Layout& layout, const Place& place);

}  // namespace heddle::classifier
