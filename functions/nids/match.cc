#include "functions/nids/match.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "core/load.h"

namespace heddle::nids {
namespace {

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

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

/** `ends`: where the contents so far may have ended, ascending. Replaces them by where they may end with this one. */
void follow(const Content& content, std::vector<uint32_t>& ends, std::vector<uint32_t>& others,
            const std::vector<uint32_t>& found) {
  const auto bytes = static_cast<int64_t>(content.bytes.size());
  others.clear();
  if (!content.negated) {
    // A place will do if the last end that it can stand behind is not too far before it.
    size_t k = 0;
    for (const uint32_t place : found) {
      while (k < ends.size() && int64_t{ends[k]} + content.distance <= place) ++k;
      if (k > 0 && (content.within < 0 || place + bytes <= int64_t{ends[k - 1]} + content.distance + content.within))
        others.push_back(place + static_cast<uint32_t>(bytes));
    }
  } else {
    // An end is still good if the first place behind it is too far, or none.
    size_t k = 0;
    for (const uint32_t end : ends) {
      while (k < found.size() && found[k] < int64_t{end} + content.distance) ++k;
      const bool there = k < found.size() &&
                         (content.within < 0 || found[k] + bytes <= int64_t{end} + content.distance + content.within);
      if (!there) others.push_back(end);
    }
  }
  ends.swap(others);
}

constexpr uint32_t kMostSearches = 1000;  // of regular expressions, for a rule and a packet

/** What is searched. */
struct Text {
  std::span<const uint8_t> bytes;
  uint64_t offset;  // of its first byte in what rules count from
  uint32_t fresh;   // some content must end behind this place; 0: anywhere
};

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

/** The content, which is not relative: where it ends, in workspace.ends. False: the rule does not match. */
bool find_anywhere(const Content& content, const Text& text, bool all, Workspace& workspace) {
  auto &ends = workspace.ends, &found = workspace.found;
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
  const auto offset = static_cast<uint64_t>(content.offset);
  const size_t high = content.depth < 0 ? text.bytes.size() : place(offset + static_cast<uint64_t>(content.depth));
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
    follow(content, ends, workspace.others, workspace.found);
}

/** Puts the ends that are fresh among the `fresh` ones. */
void add_fresh(const std::vector<uint32_t>& ends, uint32_t from, Workspace& workspace) {
  auto &fresh = workspace.fresh_ends, &others = workspace.others;
  others.clear();
  std::set_union(std::upper_bound(ends.begin(), ends.end(), from), ends.end(), fresh.begin(), fresh.end(),
                 std::back_inserter(others));
  fresh.swap(others);
}

bool has_contents(const Signature& rule, const Text& text, Workspace& workspace) {
  // fresh_ends: those of `ends` that contents have led to of which one ended behind text.fresh.
  auto &ends = workspace.ends, &fresh_ends = workspace.fresh_ends;
  ends.assign(1, 0), fresh_ends.clear();
  bool is_fresh = text.fresh == 0;
  workspace.searches = kMostSearches + text.fresh;
  for (auto at = rule.contents.begin(); at != rule.contents.end(); ++at) {
    const Content& content = *at;
    const bool leads_on = std::any_of(at + 1, rule.contents.end(), [](const Content& c) { return c.relative; });
    const bool all = leads_on || !is_fresh;
    if (!content.relative) {
      if (!find_anywhere(content, text, all, workspace)) return false;
      if (!content.negated) {
        is_fresh = is_fresh || !fresh_ends.empty();
        fresh_ends.clear();
      }
    } else {
      if (!content.regex) find_all(text.bytes, content, 0, text.bytes.size(), workspace.found);
      follow_any(content, text, all, workspace, ends);
      if (ends.empty()) return false;
      if (!fresh_ends.empty()) follow_any(content, text, all, workspace, fresh_ends);
    }
    if (text.fresh > 0 && !content.negated) add_fresh(ends, text.fresh, workspace);
  }
  return is_fresh || !fresh_ends.empty();
}

/** Of ICMP: whether messages of this type have an identifier and a sequence number (RFC 792; RFC 950). */
bool has_icmp_id(uint8_t type) { return type == 0 || type == 8 || (type >= 13 && type <= 18); }

/** The field's value, if the packet has it. RFC 791, 3.1; RFC 9293, 3.1; RFC 792. */
std::optional<uint32_t> value_of(Field field, const View& view) {
  const uint8_t *const network = view.network, *const transport = view.transport;
  const auto u16 = [](const uint8_t* at) { return uint32_t{ntohs(load_u16(at))}; };
  if (network == nullptr) return std::nullopt;
  switch (field) {
    case Field::ttl:
      return network[8];
    case Field::tos:
      return network[1];
    case Field::id:
      return u16(network + 4);
    case Field::ip_protocol:
      return network[9];
    case Field::fragment_bits:
      return network[6] >> 5;
    case Field::fragment_offset:
      return u16(network + 6) & 0x1fff;
    case Field::same_addresses:
      return view.source == view.destination;
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
  if (!has_icmp_id(transport[0])) return std::nullopt;
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
  return rule.sources.contains(reversed ? view.destination : view.source) &&
         rule.destinations.contains(reversed ? view.source : view.destination) &&
         ports_match(rule.source_ports, reversed ? view.destination_port : view.source_port) &&
         ports_match(rule.destination_ports, reversed ? view.source_port : view.destination_port);
}

bool from_to(const Signature& rule, const View& view) {
  if ((view.flow & rule.flow_has) != rule.flow_has || (view.flow & rule.flow_lacks) != 0) return false;
  return has_fields(rule, view) && (one_way(rule, view, false) || (rule.both_ways && one_way(rule, view, true)));
}

}  // namespace

bool look_at(const uint8_t* frame, uint32_t bytes, uint32_t network, uint32_t transport, View& view) {
  if (network > bytes || bytes - network < kNetworkBytes) return false;
  const uint8_t* header = frame + network;
  const uint32_t control = load_u32(header + 6);
  transport = std::min(transport, bytes);
  const uint32_t available = bytes - transport;
  const uint8_t* behind = frame + transport;
  const uint32_t skipped = transport_bytes(control, available, available > 12 ? behind[12] : 0);
  view = {protocol_of(control), header[9], ntohl(load_u32(header + 12)), ntohl(load_u32(header + 16)), false, 0, 0, {}};
  view.has_ports = skipped > 0 && names_ports(view.protocol);
  if (view.has_ports) view.source_port = ntohs(load_u16(behind)), view.destination_port = ntohs(load_u16(behind + 2));
  view.payload = {behind + skipped, available - skipped};
  view.network = header, view.transport = skipped > 0 ? behind : nullptr;
  if (view.has_ports && view.protocol == Protocol::tcp)
    view.tcp_flags = behind[13], view.sequence = ntohl(load_u32(behind + 4)),
    view.acknowledgement = ntohl(load_u32(behind + 8));
  return true;
}

bool matches(const Signature& rule, const View& view, Workspace& workspace) {
  if (rule.protocol != Protocol::ip && rule.protocol != view.protocol) return false;
  if (rule.streams == Signature::Streams::only) return false;
  if (!rule.sizes.contains(static_cast<uint32_t>(view.payload.size()))) return false;
  if (view.payload.empty() && !rule.contents.empty()) return false;  // nothing is looked into, as in Suricata
  return from_to(rule, view) && has_contents(rule, {view.payload, 0, 0}, workspace);
}

bool matches(const Signature& rule, const View& view, const Window& window, Workspace& workspace) {
  return from_to(rule, view) && has_contents(rule, {window.bytes, window.offset, window.fresh}, workspace);
}

}  // namespace heddle::nids
