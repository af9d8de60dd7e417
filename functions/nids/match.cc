#include "functions/nids/match.h"

#include <arpa/inet.h>
#include <endian.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>

#include "core/load.h"
#include "functions/flow/ip6_name.h"
#include "functions/nids/base64.h"

namespace heddle::nids {
namespace {

bool same(const uint8_t* text, const Content& content) {
  if (!content.nocase) return std::memcmp(text, content.bytes.data(), content.bytes.size()) == 0;
  return std::equal(content.bytes.begin(), content.bytes.end(), text,
                    [](char a, uint8_t b) { return lowered(a) == lowered(static_cast<char>(b)); });
}

/** Where `content` begins in payload[low, high), ascending. */
void find_all(std::span<const uint8_t> payload, const Content& content, size_t low, size_t high,
              std::vector<uint32_t>& found) {
  found.clear();
  high = std::min(high, payload.size());
  const size_t bytes = content.bytes.size();
  if (content.at_end) {
    if (high < payload.size() || bytes > high) return;
    low = std::max(low, high - bytes);
  }
  const char first = content.bytes[0];
  for (size_t at = low; at + bytes <= high; ++at) {
    if (!content.nocase) {  // to the next place where it can begin
      const void* next = std::memchr(payload.data() + at, first, high - bytes + 1 - at);
      if (next == nullptr) return;
      at = static_cast<size_t>(static_cast<const uint8_t*>(next) - payload.data());
    }
    if (same(payload.data() + at, content)) found.push_back(static_cast<uint32_t>(at));
  }
}

constexpr int64_t kTooFar = int64_t{1} << 40;  // behind any payload, and sums of some are no overflow

/** What a rule says, or the variable that stands for it. */
int64_t value_of(int64_t number, int variable, const Workspace& workspace) {
  if (variable < 0) return number;
  return static_cast<int64_t>(std::min<uint64_t>(workspace.values[variable], kTooFar));
}
int64_t value_of(const Operand& operand, const Workspace& workspace) {
  return value_of(operand.number, operand.variable, workspace);
}

/** `ends`: where the contents so far may have ended, ascending. Replaces them by where they may end with this one,
 *  which workspace.found says places of. */
void follow(const Content& content, Workspace& workspace, std::vector<uint32_t>& ends) {
  const auto& found = workspace.found;
  auto& others = workspace.others;
  const auto bytes = static_cast<int64_t>(content.bytes.size());
  const int64_t distance = value_of(content.distance, content.distance_variable, workspace);
  const int64_t within = value_of(content.within, content.within_variable, workspace);
  others.clear();
  if (!content.negated) {
    // A place will do if the last end that it can stand behind is not too far before it.
    size_t k = 0;
    for (const uint32_t place : found) {
      while (k < ends.size() && int64_t{ends[k]} + distance <= place) ++k;
      if (k > 0 && (within < 0 || place + bytes <= int64_t{ends[k - 1]} + distance + within))
        others.push_back(place + static_cast<uint32_t>(bytes));
    }
  } else {
    // An end is still good if the first place behind it is too far, or none.
    size_t k = 0;
    for (const uint32_t end : ends) {
      while (k < found.size() && found[k] < int64_t{end} + distance) ++k;
      const bool there = k < found.size() && (within < 0 || found[k] + bytes <= int64_t{end} + distance + within);
      if (!there) others.push_back(end);
    }
  }
  ends.swap(others);
}

constexpr uint32_t kMaxSearches = 1000;  // for a rule and a packet, or a transaction

/** Appends where matches in text[begin, ...) end, for each place where one begins (`all`), or for the first. False:
 *  that was too much, and some may be missing. */
bool find_regex(const Regex& regex, const Text& text, uint32_t begin, bool continued, bool all, Workspace& workspace,
                std::vector<uint32_t>& ends) {
  const auto bytes = text.bytes.subspan(begin);
  for (uint32_t from = 0; from <= bytes.size();) {
    Regex::Match match;
    auto outcome = Regex::Outcome::gave_up;
    if (workspace.searches > 0)
      --workspace.searches, outcome = regex.find(bytes, from, continued, match, workspace.regex);
    if (outcome == Regex::Outcome::none) return true;
    if (outcome == Regex::Outcome::gave_up) {
      ++workspace.gave_up;
      return false;
    }
    ends.push_back(begin + match.end);
    if (!all) return true;
    from = std::max(from, match.begin) + 1;
  }
  return true;
}

/** follow(), for a regular expression. `all`: where all its matches end, not just some. */
void follow_regex(const Content& content, const Text& text, bool all, Workspace& workspace,
                  std::vector<uint32_t>& ends) {
  auto& others = workspace.others;
  others.clear();
  for (const uint32_t end : ends) {
    const size_t before = others.size();
    const bool whole = find_regex(*content.regex, text, end, false, all && !content.negated, workspace, others);
    if (content.negated) {
      const bool there = others.size() > before;
      others.resize(before);
      if (whole && !there) others.push_back(end);
    }
    if (!whole || (!all && !others.empty())) break;
  }
  std::ranges::sort(others);
  others.erase(std::unique(others.begin(), others.end()), others.end());
  ends.swap(others);
}

/** The content, which is not relative: where it ends, in `ends`. False: the rule does not match. */
bool find_anywhere(const Content& content, const Text& text, bool all, Workspace& workspace,
                   std::vector<uint32_t>& ends) {
  auto& found = workspace.found;
  found.clear();
  if (content.regex) {
    const bool whole = find_regex(*content.regex, text, 0, text.offset > 0, all && !content.negated, workspace, found);
    if (content.negated) return whole && found.empty();
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    ends.swap(found);
    return !ends.empty();
  }
  // What lies before the text cannot be seen any more.
  const auto place = [&](uint64_t at) { return at > text.offset ? static_cast<size_t>(at - text.offset) : 0; };
  const auto offset = static_cast<uint64_t>(value_of(content.offset, content.offset_variable, workspace));
  const int64_t depth = value_of(content.depth, content.depth_variable, workspace);
  const size_t high = depth < 0 ? text.bytes.size() : place(offset + static_cast<uint64_t>(depth));
  find_all(text.bytes, content, place(offset), high, found);
  if (content.negated) return found.empty();
  ends.clear();
  for (const uint32_t at : found) ends.push_back(at + static_cast<uint32_t>(content.bytes.size()));
  return !ends.empty();
}

/** The content, which is relative: where the contents so far may end with it. */
void follow_any(const Content& content, const Text& text, bool all, Workspace& workspace, std::vector<uint32_t>& ends) {
  if (content.regex)
    follow_regex(content, text, all, workspace, ends);
  else
    follow(content, workspace, ends);
}

/** Puts the ends that are fresh among the fresh ones. */
void add_fresh(Ways& ways, uint32_t from, Workspace& workspace) {
  const auto &ends = ways.ends, &fresh = ways.fresh_ends;
  auto& others = workspace.others;
  others.clear();
  std::set_union(std::upper_bound(ends.begin(), ends.end(), from), ends.end(), fresh.begin(), fresh.end(),
                 std::back_inserter(others));
  ways.fresh_ends.swap(others);
}

/** What a probe has read. */
struct Reading {
  uint64_t number = 0;
  int64_t begin = 0, end = 0;  ///< of the number's bytes or digits
};

/** Reads the number of a probe whose offset counts from `base`. */
std::optional<Reading> read_number(const Content& content, const Text& text, int64_t base, const Workspace& workspace) {
  const Probe& probe = *content.probe;
  const auto size = static_cast<int64_t>(text.bytes.size());
  const int64_t begin = base + value_of(probe.offset, workspace);
  int64_t count = value_of(probe.bytes, workspace);
  if (count == 0 && probe.text && probe.bytes.variable < 0 && begin >= 0)  // as many as there are
    count = std::clamp<int64_t>(size - begin, 0, Probe::kMaxDigits);
  if (count < (probe.text ? 1 : 0) || count > (probe.text ? Probe::kMaxDigits : 8) || begin < 0 ||
      begin + count > size || (content.relative && begin >= size))
    return std::nullopt;
  const uint8_t* const bytes = text.bytes.data() + begin;
  Reading reading{0, begin, begin + count};
  if (probe.text) {
    char digits[Probe::kMaxDigits + 1] = {};
    std::memcpy(digits, bytes, static_cast<size_t>(count));
    char* end = digits;
    errno = 0;
    reading.number = std::strtoull(digits, &end, probe.base);
    if (end == digits || errno == ERANGE) return std::nullopt;
    reading.end = begin + (end - digits);
  } else {
    for (int64_t k = 0; k < count; ++k) reading.number = reading.number << 8 | bytes[probe.little ? count - 1 - k : k];
  }
  return reading;
}

bool holds(const Probe& probe, uint64_t number, uint64_t value) {
  using Compare = Probe::Compare;
  if (probe.mask != 0) number = (number & probe.mask) >> std::countr_zero(probe.mask);
  switch (probe.compare) {
    case Compare::equal:
      return number == value;
    case Compare::less:
      return number < value;
    case Compare::greater:
      return number > value;
    case Compare::at_most:
      return number <= value;
    case Compare::at_least:
      return number >= value;
    case Compare::shares:
      return (number & value) != 0;
    case Compare::differs:
      return number != value;
  }
  return false;
}

/** What a jump or a variable makes of the number. */
uint64_t scaled(const Probe& probe, uint64_t number) {
  number *= probe.multiplier;
  return (number + probe.align - 1) / probe.align * probe.align;
}

/** Where a probe leads to. */
struct Led {
  int64_t to = 0;     ///< where what is relative to it counts from
  int64_t reach = 0;  ///< behind all bytes that it asks for
};

/** By a probe that reads no variable, from a match that ends at `base`, or the payload's start. Nothing: no match. */
std::optional<Led> lead(const Content& content, const Text& text, int64_t base, Workspace& workspace) {
  const Probe& probe = *content.probe;
  const auto size = static_cast<int64_t>(text.bytes.size());
  if (probe.kind == Probe::Kind::data_at) {
    // So many bytes follow; from the start, so many and one more (Suricata 7.0, detect-engine-content-inspection).
    const int64_t reach = base + value_of(probe.offset, workspace) + (content.relative ? 0 : 1);
    if ((reach <= size) == probe.negated) return std::nullopt;
    return Led{base, probe.negated ? 0 : reach};
  }
  const auto reading = read_number(content, text, base, workspace);
  if (!reading) return std::nullopt;
  if (probe.kind == Probe::Kind::test) {
    const auto value =
        probe.value.variable < 0 ? static_cast<uint64_t>(probe.value.number) : workspace.values[probe.value.variable];
    if (holds(probe, reading->number, value) == probe.negated) return std::nullopt;
    return Led{base, reading->end};
  }
  const auto by = static_cast<int64_t>(scaled(probe, reading->number) + static_cast<uint64_t>(probe.post_offset));
  const int64_t from = probe.from == Probe::From::here        ? reading->end
                       : probe.from == Probe::From::beginning ? -static_cast<int64_t>(text.offset)
                                                              : size;
  const int64_t to = std::max<int64_t>(from + std::clamp(by, -kTooFar, kTooFar), 0);
  if (to > size) return std::nullopt;
  return Led{to, std::max(reading->end, to)};
}

/** A probe that reads no variable: where the contents so far may lead with it. False: the rule does not match. */
bool follow_probe(const Content& content, const Text& text, Workspace& workspace, Ways& ways, bool& is_fresh) {
  const bool jumps = content.probe->kind == Probe::Kind::jump;
  if (!content.relative) {
    const auto led = lead(content, text, -static_cast<int64_t>(text.offset), workspace);
    if (!led) return false;
    if (jumps) {
      is_fresh = is_fresh || !ways.fresh_ends.empty();
      ways.fresh_ends.clear();
      ways.ends.assign(1, static_cast<uint32_t>(led->to));
    }
    is_fresh = is_fresh || led->reach > text.fresh;
    return true;
  }
  auto &ends = workspace.others, &fresh = workspace.found;
  ends.clear(), fresh.clear();
  for (const uint32_t end : ways.ends) {
    const auto led = lead(content, text, end, workspace);
    if (!led) continue;
    ends.push_back(static_cast<uint32_t>(led->to));
    if (text.fresh > 0 && (led->reach > text.fresh || std::ranges::binary_search(ways.fresh_ends, end)))
      fresh.push_back(ends.back());
  }
  for (auto* list : {&ends, &fresh}) {
    if (jumps) std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  ways.ends.swap(ends), ways.fresh_ends.swap(fresh);
  return !ways.ends.empty();
}

bool leads_on(std::span<const Content> contents, size_t first, size_t variables, bool is_fresh, const Text& text,
              Workspace& workspace);

/** Content `k`, which reads a variable: whether some number that it may be leads on to the end. */
bool reads_on(std::span<const Content> contents, size_t k, size_t variables, bool is_fresh, const Text& text,
              Workspace& workspace) {
  const Content& content = contents[k];
  const Ways& ways = workspace.ways[variables];
  Ways& next = workspace.ways[variables + 1];
  const auto try_from = [&](int64_t base, bool fresh) {
    const auto reading = read_number(content, text, base, workspace);
    if (!reading) return false;
    --workspace.searches;
    workspace.values[content.probe->variable] = scaled(*content.probe, reading->number);
    next.ends.assign(1, static_cast<uint32_t>(reading->end));
    next.fresh_ends.assign(text.fresh > 0 && (fresh || reading->end > text.fresh) ? 1 : 0, next.ends[0]);
    return leads_on(contents, k + 1, variables + 1, is_fresh, text, workspace);
  };
  const size_t count = content.relative ? ways.ends.size() : 1;
  for (size_t way = 0; way < count; ++way) {
    if (workspace.searches == 0) {
      ++workspace.gave_up;
      return false;
    }
    if (content.relative ? try_from(ways.ends[way], std::ranges::binary_search(ways.fresh_ends, ways.ends[way]))
                         : try_from(-static_cast<int64_t>(text.offset), !ways.fresh_ends.empty()))
      return true;
  }
  return false;
}

/** Whether contents `first` and on stand behind those before, which have ended at workspace.ways[variables] and read so
 *  many variables. Fresh: that one of those before ended behind text.fresh, on all ways. */
bool leads_on(std::span<const Content> contents, size_t first, size_t variables, bool is_fresh, const Text& text,
              Workspace& workspace) {
  Ways& ways = workspace.ways[variables];
  for (size_t k = first; k < contents.size(); ++k) {
    const Content& content = contents[k];
    if (content.probe && content.probe->kind == Probe::Kind::extract)
      return reads_on(contents, k, variables, is_fresh, text, workspace);
    if (content.probe) {
      if (!follow_probe(content, text, workspace, ways, is_fresh)) return false;
      continue;
    }
    if (content.base64) return leads_on_decoded(content, text, is_fresh, ways, workspace);
    const bool others_follow = std::any_of(contents.begin() + static_cast<long>(k) + 1, contents.end(),
                                           [](const Content& c) { return c.relative; });
    const bool all = others_follow || !is_fresh;
    if (!content.relative) {
      if (!find_anywhere(content, text, all, workspace, ways.ends)) return false;
      if (!content.negated) {
        is_fresh = is_fresh || !ways.fresh_ends.empty();
        ways.fresh_ends.clear();
      }
    } else {
      if (!content.regex) find_all(text.bytes, content, 0, text.bytes.size(), workspace.found);
      follow_any(content, text, all, workspace, ways.ends);
      if (ways.ends.empty()) return false;
      if (!ways.fresh_ends.empty()) follow_any(content, text, all, workspace, ways.fresh_ends);
    }
    if (text.fresh > 0 && !content.negated) add_fresh(ways, text.fresh, workspace);
  }
  return is_fresh || !ways.fresh_ends.empty();
}

/** Of ICMP, or ICMPv6: whether messages of this type have an identifier and a sequence number (RFC 792; RFC 950; RFC
 *  4443, 4.1 and 4.2). */
bool has_icmp_id(uint8_t number, uint8_t type) {
  if (number == kIcmp6Number) return type == 128 || type == 129;
  return type == 0 || type == 8 || (type >= 13 && type <= 18);
}

/** The field's value, if the packet has it. RFC 791, 3.1; RFC 8200, 3 and 4.5; RFC 9293, 3.1; RFC 792. */
std::optional<uint32_t> value_of(Field field, const View& view) {
  const uint8_t *const network = view.network, *const transport = view.transport;
  const auto u16 = [](const uint8_t* at) { return uint32_t{ntohs(load_u16(at))}; };
  if (network == nullptr) return std::nullopt;
  const bool of_ip4 = field == Field::tos || field == Field::id || field == Field::fragment_bits;
  if (view.is_ip6 && (of_ip4 || (field == Field::fragment_offset && view.fragment == nullptr))) return std::nullopt;
  switch (field) {
    case Field::version:
      return view.is_ip6 ? 6 : 4;
    case Field::ip_protocol:
      return view.number;
    case Field::same_addresses:
      return view.source == view.destination;
    case Field::ttl:
      return network[view.is_ip6 ? 7 : 8];
    case Field::tos:
      return network[1];
    case Field::id:
      return u16(network + 4);
    case Field::fragment_bits:
      return network[6] >> 5;
    case Field::fragment_offset:
      return view.is_ip6 ? u16(view.fragment + 2) >> 3 : u16(network + 6) & 0x1fff;
    default:
      break;
  }
  const bool of_icmp = field >= Field::icmp_type;
  if (transport == nullptr || view.protocol != (of_icmp ? Protocol::icmp : Protocol::tcp)) return std::nullopt;
  switch (field) {
    case Field::sequence:
      return view.sequence;
    case Field::acknowledgement:
      return view.acknowledgement;
    case Field::window:
      return u16(transport + 14);
    case Field::tcp_flags:
      return view.tcp_flags;
    case Field::icmp_type:
      return transport[0];
    case Field::icmp_code:
      return transport[1];
    default:
      break;
  }
  if (!has_icmp_id(view.number, transport[0])) return std::nullopt;
  return u16(transport + (field == Field::icmp_id ? 4 : 6));
}

bool has_fields(const Signature& rule, const View& view) {
  return std::ranges::all_of(rule.fields, [&](const FieldTest& test) {
    const auto value = value_of(test.field, view);
    return value && test.values.contains(*value);
  });
}

bool one_way(const Signature& rule, const View& view, bool reversed) {
  const auto ports_match = [&](const Ranges& ports, uint16_t port) {
    return view.has_ports ? ports.contains(port) : ports == Ranges(0, 65535);
  };
  return rule.sources.contains(view.is_ip6, reversed ? view.destination : view.source) &&
         rule.destinations.contains(view.is_ip6, reversed ? view.source : view.destination) &&
         ports_match(rule.source_ports, reversed ? view.destination_port : view.source_port) &&
         ports_match(rule.destination_ports, reversed ? view.source_port : view.destination_port);
}

Wide wide_at(const uint8_t* at) { return Wide{be64toh(load_u64(at))} << 64 | be64toh(load_u64(at + 8)); }

}  // namespace

bool goes_between(const Signature& rule, const View& view) {
  return one_way(rule, view, false) || (rule.both_ways && one_way(rule, view, true));
}

bool is_for(const Signature& rule, const View& view) {
  if ((view.flow & rule.flow_has) != rule.flow_has || (view.flow & rule.flow_lacks) != 0) return false;
  const auto holds = [&](const SentTest& test) {
    return view.sent && test.holds(view.sent->client, view.sent->server);
  };
  return std::ranges::all_of(rule.sent, holds) && has_fields(rule, view) && goes_between(rule, view);
}

bool look_at(const uint8_t* frame, uint32_t bytes, uint32_t network, uint32_t transport, View& view) {
  const auto load = [frame](uint32_t at) { return load_u32(frame + at); };
  const Headers headers = headers_of(bytes, network, transport, load);
  if (!headers.whole) return false;
  const ip6::Behind& found = headers.behind;
  const uint32_t available = bytes - found.at;
  const uint8_t *header = frame + network, *behind = frame + found.at;
  const uint32_t skipped = transport_bytes(headers, available, available > 12 ? behind[12] : 0);
  view = {};
  view.protocol = protocol_of(found.number), view.number = found.number, view.is_ip6 = headers.is_ip6;
  if (headers.is_ip6)
    view.source = wide_at(header + 8), view.destination = wide_at(header + 24);
  else
    view.source = ntohl(load_u32(header + 12)), view.destination = ntohl(load_u32(header + 16));
  view.has_ports = skipped > 0 && names_ports(view.protocol);
  if (view.has_ports) view.source_port = ntohs(load_u16(behind)), view.destination_port = ntohs(load_u16(behind + 2));
  view.payload = {behind + skipped, frame + end_of_payload(headers, bytes, skipped, load)};
  view.network = header, view.transport = skipped > 0 ? behind : nullptr;
  view.fragment = found.fragment != 0 ? frame + found.fragment : nullptr;
  if (view.has_ports && view.protocol == Protocol::tcp)
    view.tcp_flags = behind[13], view.sequence = ntohl(load_u32(behind + 4)),
    view.acknowledgement = ntohl(load_u32(behind + 8));
  return true;
}

uint64_t View::name_of(Wide first, Wide second) const {
  if (!is_ip6) return static_cast<uint64_t>(first << 32 | second);
  const auto half = [](Wide address, int shift) { return static_cast<uint64_t>(address >> shift); };
  const uint64_t words[] = {half(first, 64), half(first, 0), half(second, 64), half(second, 0)};
  return flow::ip6_name(words);
}

void allow_searches(Workspace& workspace, uint32_t more) { workspace.searches = kMaxSearches + more; }

bool matches(const Signature& rule, const View& view, Workspace& workspace) {
  if (rule.protocol != Protocol::ip && rule.protocol != view.protocol) return false;
  if (rule.streams == Signature::Streams::only) return false;
  if (!rule.sizes.contains(static_cast<uint32_t>(view.payload.size()))) return false;
  if (view.payload.empty() && !rule.contents.empty()) return false;  // nothing is looked into, as in Suricata
  allow_searches(workspace, 0);
  return is_for(rule, view) && stand_in(rule.contents, {view.payload, 0, 0}, workspace);
}

bool matches(const Signature& rule, const View& view, const Window& window, Workspace& workspace) {
  allow_searches(workspace, window.fresh);
  return is_for(rule, view) && stand_in(rule.contents, {window.bytes, window.offset, window.fresh}, workspace);
}

bool stand_in(std::span<const Content> contents, std::span<const uint8_t> bytes, uint64_t offset,
              Workspace& workspace) {
  return stand_in(contents, {bytes, offset, 0}, workspace);
}

bool stand_in(std::span<const Content> contents, const Text& text, Workspace& workspace) {
  Ways& ways = workspace.ways[0];
  ways.ends.assign(1, 0), ways.fresh_ends.clear();
  return leads_on(contents, 0, 0, text.fresh == 0, text, workspace);
}

}  // namespace heddle::nids
