#include "functions/nids/automata.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include "functions/nids/port_groups.h"

namespace heddle::nids {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  return result;
}

/** The part of `pattern` of at most `longest` bytes that has the most different ones: it is found by chance least
 *  often. */
std::string shortened(const std::string& pattern, size_t longest) {
  if (pattern.size() <= longest) return pattern;
  size_t best = 0, most = 0;
  for (size_t first = 0; first + longest <= pattern.size(); ++first) {
    bool seen[256] = {};
    size_t different = 0;
    for (size_t at = first; at < first + longest; ++at)
      different += std::exchange(seen[static_cast<uint8_t>(pattern[at])], true) ? 0 : 1;
    if (different > most) most = different, best = first;
  }
  return pattern.substr(best, longest);
}

/** What a rule set looks for, in order, each pattern once, and the rules of each. */
struct Whole {
  std::vector<std::string> patterns;
  std::vector<std::vector<uint32_t>> rules_of;  // [pattern]
  std::vector<uint32_t> pattern_of;             // [rule], or PortGroups::kNoPattern
};

Whole whole_of(std::span<const Signature> rules) {
  std::map<std::string, std::vector<uint32_t>> by_pattern;
  Whole whole;
  whole.pattern_of.assign(rules.size(), PortGroups::kNoPattern);
  for (uint32_t r = 0; r < rules.size(); ++r)
    if (const auto pattern = rules[r].fast_pattern(); !pattern.empty())
      by_pattern[shortened(in_lower_case(pattern), kLongestPattern)].push_back(r);
  for (auto& [pattern, of] : by_pattern) {
    for (const uint32_t rule : of) whole.pattern_of[rule] = static_cast<uint32_t>(whole.patterns.size());
    whole.patterns.push_back(pattern);
    whole.rules_of.push_back(std::move(of));
  }
  return whole;
}

/** The patterns with these numbers, shortened until their automaton is not too large, and its states. */
std::pair<std::map<std::string, std::vector<uint32_t>>, size_t> fitting(const Whole& whole,
                                                                        std::span<const uint32_t> numbers) {
  for (const size_t longest : {kLongestPattern, 24u, 16u, 12u, 8u, 6u, 4u, 3u, 2u, 1u}) {
    std::map<std::string, std::vector<uint32_t>> patterns;
    for (const uint32_t number : numbers) {
      auto& rules = patterns[shortened(whole.patterns[number], longest)];
      rules.insert(rules.end(), whole.rules_of[number].begin(), whole.rules_of[number].end());
    }
    StateCount count;
    for (const auto& [pattern, rules] : patterns) count.add(pattern);
    if (count.states() <= kMaxStates) return {std::move(patterns), count.states()};
  }
  return {};  // never: 256 patterns of a byte fit
}

/** Bit p: all packets of Protocol p must be candidates, whatever their ports are. */
uint32_t all_of(std::span<const Signature> rules, bool all_tcp) {
  uint32_t all = all_tcp ? 1u << static_cast<uint32_t>(Protocol::tcp) : 0;
  for (const Signature& rule : rules)
    for (uint32_t p = 0; p < kProtocols; ++p) all |= rule.asks_all(static_cast<Protocol>(p)) ? 1u << p : 0;
  return all;
}

struct Node {
  std::array<int32_t, 256> child;  // -1: none; by class, later the state behind each class
  int32_t fallback = 0, pattern = -1;
  bool accepts = false;
};

}  // namespace

Automata::Automata(std::span<const Signature> rules, bool all_tcp, bool tells) {
  const Whole whole = whole_of(rules);
  pattern_count_ = whole.patterns.size();
  for (uint32_t r = 0; r < rules.size(); ++r)
    for (uint32_t p = 0; rules[r].parts.empty() && p < kProtocols; ++p)
      if (const auto asked = rules[r].protocol;
          whole.pattern_of[r] == PortGroups::kNoPattern && (asked == Protocol::ip || static_cast<uint32_t>(asked) == p))
        always_[p].push_back(r);

  const PortGroups groups(rules, whole.patterns, whole.pattern_of);
  std::vector<Patterns> by_group;
  size_t states = 0;
  for (const auto& numbers : groups.patterns) {
    auto [patterns, its_states] = fitting(whole, numbers);
    by_group.push_back(std::move(patterns));
    states += its_states;
  }

  // A class for each byte that patterns have, and class 0 for all others.
  uint8_t class_of[256] = {};
  uint32_t classes = 1;
  for (const auto& pattern : whole.patterns)
    for (const char c : pattern)
      if (auto& its_class = class_of[static_cast<uint8_t>(c)]; its_class == 0)
        its_class = static_cast<uint8_t>(classes++);  // 230 at most: there are no capitals
  for (int c = 'A'; c <= 'Z'; ++c) class_of[c] = class_of[c | 0x20];

  bytes_ = sizeof(Image) + states * classes * sizeof(uint16_t);
  memory_ = map_huge_pages(bytes_);
  Image& image = writable();
  image.states = static_cast<uint32_t>(states);
  image.classes = classes;
  image.tells = tells ? 1 : 0;
  image.next = sizeof(Image);
  std::memcpy(image.class_of, class_of, sizeof class_of);
  for (const Signature& rule : rules)
    if (rule.asks_flow() && (rule.protocol == Protocol::tcp || rule.protocol == Protocol::ip)) image.syns = 1;
  std::vector<PortGroup> built;
  size_t first = 0;
  for (const Patterns& patterns : by_group) first = build(patterns, first, built);
  write_groups(groups, built, all_of(rules, all_tcp));
}

size_t Automata::build(const Patterns& patterns, size_t first, std::vector<PortGroup>& built) {
  Image& image = writable();
  const uint32_t classes = image.classes;
  auto& texts = patterns_.emplace_back();
  std::vector<Node> nodes(1);
  nodes[0].child.fill(-1);
  for (const auto& [pattern, rules] : patterns) {
    size_t at = 0;
    for (const char c : pattern) {
      const uint8_t which = image.class_of[static_cast<uint8_t>(c)];
      if (nodes[at].child[which] < 0) {
        nodes[at].child[which] = static_cast<int32_t>(nodes.size());
        nodes.emplace_back().child.fill(-1);
      }
      at = static_cast<size_t>(nodes[at].child[which]);
    }
    nodes[at].pattern = static_cast<int32_t>(rules_of_.size());
    texts.push_back(pattern);
    rules_of_.push_back(rules);
  }

  // In order of depth: a state falls back to one that is complete.
  std::vector<int32_t> order{0};
  for (size_t k = 0; k < order.size(); ++k) {
    const auto n = static_cast<size_t>(order[k]);
    const Node& fallback = nodes[static_cast<size_t>(nodes[n].fallback)];
    nodes[n].accepts = nodes[n].pattern >= 0 || (n != 0 && fallback.accepts);
    for (uint32_t c = 0; c < classes; ++c) {
      int32_t& child = nodes[n].child[c];
      const int32_t otherwise = n == 0 ? 0 : fallback.child[c];
      if (child >= 0) {
        nodes[static_cast<size_t>(child)].fallback = otherwise;
        order.push_back(child);
      } else {
        child = otherwise;
      }
    }
  }

  // Those that accept get the highest numbers.
  const auto accepting = std::stable_partition(order.begin(), order.end(),
                                               [&](int32_t n) { return !nodes[static_cast<size_t>(n)].accepts; });
  const auto accept = static_cast<uint32_t>(accepting - order.begin());
  std::vector<uint16_t> number(nodes.size());
  for (size_t k = 0; k < order.size(); ++k) number[static_cast<size_t>(order[k])] = static_cast<uint16_t>(k);
  auto* next = reinterpret_cast<uint16_t*>(memory_.get() + image.next) + first * classes;
  built.push_back({static_cast<uint32_t>(first * classes), static_cast<uint16_t>(accept),
                   static_cast<uint8_t>(built.size()),
                   patterns.empty() ? PortGroup::Search::nothing : PortGroup::Search::patterns});
  first_found_.push_back(found_.size());
  for (const int32_t n : order) {
    const Node& node = nodes[static_cast<size_t>(n)];
    for (uint32_t c = 0; c < classes; ++c) *next++ = number[static_cast<size_t>(node.child[c])];
    if (!node.accepts) continue;
    // Of a state that is accepted for what it falls back to, the first such state that has a pattern.
    const Node* at = &node;
    while (at->pattern < 0) at = &nodes[static_cast<size_t>(at->fallback)];
    const auto shorter = static_cast<size_t>(at->fallback);
    found_.push_back({static_cast<uint32_t>(at->pattern), nodes[shorter].accepts ? number[shorter] : 0u});
  }
  return first + nodes.size();
}

void Automata::write_groups(const PortGroups& groups, std::span<const PortGroup> built, uint32_t all) {
  Image& image = writable();
  const auto group_for = [&](Protocol protocol, const PortGroups::Packets& packets) {
    PortGroup group = built[packets.group];
    if (packets.always || (all >> static_cast<uint32_t>(protocol) & 1) != 0) group.search = PortGroup::Search::always;
    return group;
  };
  for (uint32_t p = 0; p < kProtocols; ++p)
    image.without_ports[p] = group_for(static_cast<Protocol>(p), groups.without_ports[p]);
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp}) {
    const PortGroups::Ports& ports = protocol == Protocol::tcp ? groups.tcp : groups.udp;
    const size_t which = protocol == Protocol::tcp ? 0 : 1;
    image.destination_classes[which] = ports.destination_classes;
    std::ranges::copy(ports.source_class, image.source_class[which]);
    std::ranges::copy(ports.destination_class, image.destination_class[which]);
    for (size_t pair = 0; pair < ports.pairs.size(); ++pair)
      image.with_ports[which][pair] = group_for(protocol, ports.pairs[pair]);
  }
}

size_t Automata::group_count() const {
  return static_cast<size_t>(std::ranges::count_if(patterns_, [](const auto& list) { return !list.empty(); }));
}

bool Automata::finds(const PortGroup& group, std::span<const uint8_t> text) const {
  const Rows rows(image(), group);
  uint32_t state = 0;
  for (const uint8_t byte : text)
    if ((state = rows.step(state, byte)) >= group.accept) return true;
  return false;
}

}  // namespace heddle::nids
