#include "functions/nids/port_groups.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace heddle::nids {
namespace {

constexpr uint32_t kPorts = PortGroups::kPorts, kNone = ~0u;
constexpr size_t kMaxClasses = 256, kFewClasses = 32;
static_assert(kFewClasses * kFewClasses == kMaxPortPairs);

/** A set of small numbers, a bit each. */
using Bits = std::vector<uint64_t>;

Bits bits_for(size_t count) { return Bits((count + 63) / 64); }

void set_bit(Bits& bits, uint32_t number) { bits[number / 64] |= uint64_t{1} << number % 64; }

template <class Visit>
void each_bit(const Bits& bits, const Visit& visit) {
  for (size_t w = 0; w < bits.size(); ++w)
    for (uint64_t word = bits[w]; word != 0; word &= word - 1)
      visit(static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word))));
}

/** A direction in which a rule is for packets; one with `<>` has two. */
struct Way {
  const Ranges *sources, *destinations;  // ports
  uint32_t pattern;
};

std::vector<Way> ways_of(std::span<const Signature> rules, std::span<const uint32_t> pattern_of, Protocol protocol) {
  std::vector<Way> ways;
  for (size_t r = 0; r < rules.size(); ++r) {
    const Signature& rule = rules[r];
    if (rule.protocol != protocol && rule.protocol != Protocol::ip) continue;
    // What applications say comes by TCP or UDP.
    if (rule.application != Application::none && protocol != Protocol::tcp && protocol != Protocol::udp) continue;
    ways.push_back({&rule.source_ports, &rule.destination_ports, pattern_of[r]});
    if (rule.both_ways) ways.push_back({&rule.destination_ports, &rule.source_ports, pattern_of[r]});
  }
  return ways;
}

/** Different sets of ports, and the ways that have them. */
using WaysBySet = std::map<Ranges, std::vector<uint32_t>>;

WaysBySet by_set(const std::vector<Way>& ways, const Ranges* Way::*side) {
  WaysBySet sets;
  for (uint32_t w = 0; w < ways.size(); ++w) sets[*(ways[w].*side)].push_back(w);
  return sets;
}

/** Ports in classes, and which ways have some port of each. Ports between two borders of sets are an interval. */
struct Classes {
  std::vector<uint32_t> begins;  // [interval], ascending
  std::vector<uint32_t> of;      // [interval], by each class' lowest port
  std::vector<uint32_t> weight;  // [class]: how many ways, before classes share
  std::vector<Bits> ways;        // [class]
  size_t count() const { return weight.size(); }

  template <class Visit>
  void each_interval(const Ranges& set, const Visit& visit) const {
    for (const auto& [low, high] : set.all())
      for (auto at = std::ranges::lower_bound(begins, low); at != begins.end() && *at <= high; ++at)
        visit(static_cast<uint32_t>(at - begins.begin()));
  }
  std::vector<uint8_t> by_port() const {
    std::vector<uint8_t> list(kPorts);
    for (size_t k = 0; k < begins.size(); ++k)
      std::fill(list.begin() + begins[k], list.begin() + (k + 1 < begins.size() ? begins[k + 1] : kPorts),
                static_cast<uint8_t>(of[k]));
    return list;
  }
};

/** Classes so that each set has all ports of a class or none. */
Classes classes_of(const WaysBySet& sets) {
  Classes classes;
  classes.begins = {0};
  for (const auto& [set, ways] : sets)
    for (const auto& [low, high] : set.all())
      for (const uint32_t border : {low, high + 1})
        if (border < kPorts) classes.begins.push_back(border);
  std::ranges::sort(classes.begins);
  classes.begins.erase(std::unique(classes.begins.begin(), classes.begins.end()), classes.begins.end());

  const size_t intervals = classes.begins.size();
  classes.of.assign(intervals, 0);
  std::vector<uint32_t> ways_at(intervals);                                              // [interval]
  std::vector<uint32_t> size{static_cast<uint32_t>(intervals)}, inside{0}, part{kNone};  // [class]
  for (const auto& [set, ways] : sets) {
    std::vector<uint32_t> touched;
    const auto count = static_cast<uint32_t>(ways.size());
    classes.each_interval(set, [&](uint32_t k) {
      ways_at[k] += count;
      if (inside[classes.of[k]]++ == 0) touched.push_back(classes.of[k]);
    });
    for (const uint32_t which : touched) {  // its part that is inside becomes a class, unless that is all of it
      if (const uint32_t moved = std::exchange(inside[which], 0); moved < size[which]) {
        part[which] = static_cast<uint32_t>(size.size());
        size[which] -= moved;
        size.push_back(moved), inside.push_back(0), part.push_back(kNone);
      }
    }
    classes.each_interval(set, [&](uint32_t k) {
      if (part[classes.of[k]] != kNone) classes.of[k] = part[classes.of[k]];
    });
    for (const uint32_t which : touched) part[which] = kNone;
  }
  std::vector<uint32_t> number(size.size(), kNone);
  for (size_t k = 0; k < intervals; ++k) {
    uint32_t& its_number = number[classes.of[k]];
    if (its_number == kNone) {
      its_number = static_cast<uint32_t>(classes.weight.size());
      classes.weight.push_back(ways_at[k]);
    }
    classes.of[k] = its_number;
  }
  return classes;
}

/** Lets neighbours share a class, of about the same weight each, until there are at most `most`. */
void share(Classes& classes, size_t most) {
  if (classes.count() <= most) return;
  // Two neighbours together are heavier than `full`, so there are no more than `most`.
  const uint64_t all = std::accumulate(classes.weight.begin(), classes.weight.end(), uint64_t{0});
  const uint64_t full = 2 * all / (most - 1) + 1;
  std::vector<uint32_t> shared, weight;
  uint64_t its_weight = std::numeric_limits<uint64_t>::max() / 2;
  for (const uint32_t more : classes.weight) {
    if (its_weight + more > full) its_weight = 0, weight.push_back(0);
    its_weight += more;
    weight.back() += more;
    shared.push_back(static_cast<uint32_t>(weight.size()) - 1);
  }
  for (uint32_t& its_class : classes.of) its_class = shared[its_class];
  classes.weight = std::move(weight);
}

void find_ways(Classes& classes, const WaysBySet& sets, size_t ways) {
  classes.ways.assign(classes.count(), bits_for(ways));
  std::vector<uint32_t> seen(classes.count(), kNone);  // [class], the set
  uint32_t number = 0;
  for (const auto& each : sets) {
    classes.each_interval(each.first, [&](uint32_t k) {
      const uint32_t its_class = classes.of[k];
      if (std::exchange(seen[its_class], number) == number) return;
      for (const uint32_t way : each.second) set_bit(classes.ways[its_class], way);
    });
    ++number;
  }
}

/** Sets of patterns, each once, and what becomes of them. */
class PatternSets {
 public:
  explicit PatternSets(std::span<const std::string> patterns) : patterns_(patterns) {}

  uint32_t number_of(Bits set) {
    const auto [at, is_new] = numbers_.emplace(std::move(set), static_cast<uint32_t>(sets_.size()));
    if (is_new) sets_.push_back(&at->first), states_.push_back(states_of(at->first)), into_.push_back(kNone);
    return at->second;
  }

  /** Lets sets share until they are as few, and their automata as small, as PortGroups says. */
  void share() {
    auto all = bits_for(patterns_.size());
    for (uint32_t p = 0; p < patterns_.size(); ++p) set_bit(all, p);
    const size_t most = std::clamp(2 * states_of(all), kMaxStates, 4 * kMaxStates);
    size_t left = sets_.size(), together = 0;
    for (const size_t states : states_) together += states;
    if (left <= kMaxGroups && together <= most) return;
    std::priority_queue<Pair> pairs;
    for (uint32_t b = 0; b < sets_.size(); ++b) add_pairs(b, pairs);
    while (left > 1 && (left > kMaxGroups || together > most)) {
      const Pair pair = pairs.top();
      pairs.pop();
      if (into_[pair.a] != kNone || into_[pair.b] != kNone) continue;
      Bits set = *sets_[pair.a];
      for (size_t w = 0; w < set.size(); ++w) set[w] |= (*sets_[pair.b])[w];
      const auto before = sets_.size();
      const uint32_t both = group_of(number_of(std::move(set)));  // perhaps one of them, or another
      if (sets_.size() > before) ++left, together += states_[both], add_pairs(both, pairs);
      for (const uint32_t old : {pair.a, pair.b})
        if (old != both) into_[old] = both, --left, together -= states_[old];
    }
  }

  /** The set that patterns of set `number` are in after share(). */
  uint32_t group_of(uint32_t number) const {
    while (into_[number] != kNone) number = into_[number];
    return number;
  }
  const Bits& operator[](uint32_t number) const { return *sets_[number]; }
  size_t count() const { return sets_.size(); }

 private:
  /** PatternSets a and b; `likeness`: patterns of both for each that one alone has. */
  struct Pair {
    double likeness;
    uint32_t a, b;
    auto operator<=>(const Pair&) const = default;
  };

  size_t states_of(const Bits& set) const {
    StateCount states;
    each_bit(set, [&](uint32_t p) { states.add(patterns_[p]); });
    return std::min(states.states(), kMaxStates);  // patterns will be shortened
  }
  void add_pairs(uint32_t b, std::priority_queue<Pair>& pairs) const {
    for (uint32_t a = 0; a < b; ++a) {
      if (into_[a] != kNone) continue;
      int common = 0, different = 0;
      for (size_t w = 0; w < sets_[b]->size(); ++w) {
        common += std::popcount((*sets_[a])[w] & (*sets_[b])[w]);
        different += std::popcount((*sets_[a])[w] ^ (*sets_[b])[w]);
      }
      // They are never the same. Of those that have nothing in common, small ones share first.
      pairs.push({common > 0 ? static_cast<double>(common) / different : -static_cast<double>(different), a, b});
    }
  }

  std::span<const std::string> patterns_;
  std::map<Bits, uint32_t> numbers_;
  std::vector<const Bits*> sets_;  // keys of it
  std::vector<size_t> states_;     // [set]
  std::vector<uint32_t> into_;     // [set]: with which it shares; kNone: it is a group
};

/** What is looked for in packets of a protocol. Groups are numbers of sets. */
class Finder {
 public:
  Finder(std::vector<Way> ways, size_t patterns, PatternSets& sets)
      : ways_(std::move(ways)), patterns_(patterns), sets_(sets) {}

  /** For the rules that name no ports. */
  PortGroups::Packets without_ports() {
    const Ranges all(0, kPorts - 1);
    auto ways = bits_for(ways_.size());
    for (uint32_t w = 0; w < ways_.size(); ++w)
      if (*ways_[w].sources == all && *ways_[w].destinations == all) set_bit(ways, w);
    return of(ways);
  }

  PortGroups::Ports with_ports() {
    const WaysBySet source_sets = by_set(ways_, &Way::sources), destination_sets = by_set(ways_, &Way::destinations);
    Classes from = classes_of(source_sets), to = classes_of(destination_sets);
    share(from, kMaxClasses), share(to, kMaxClasses);
    if (const auto froms = from.count(), tos = to.count(); froms * tos > kMaxPortPairs) {
      share(from, tos <= kFewClasses ? kMaxPortPairs / tos : kFewClasses);
      share(to, froms <= kFewClasses ? kMaxPortPairs / froms : kFewClasses);
    }
    find_ways(from, source_sets, ways_.size()), find_ways(to, destination_sets, ways_.size());
    PortGroups::Ports ports;
    ports.source_class = from.by_port(), ports.destination_class = to.by_port();
    ports.destination_classes = static_cast<uint32_t>(to.count());
    for (const Bits& source : from.ways)
      for (const Bits& destination : to.ways) {
        Bits both = source;
        for (size_t w = 0; w < both.size(); ++w) both[w] &= destination[w];
        ports.pairs.push_back(of(both));
      }
    return ports;
  }

 private:
  PortGroups::Packets of(const Bits& ways) {
    PortGroups::Packets packets;
    auto patterns = bits_for(patterns_);
    each_bit(ways, [&](uint32_t w) {
      if (ways_[w].pattern == PortGroups::kNoPattern)
        packets.always = true;
      else
        set_bit(patterns, ways_[w].pattern);
    });
    packets.group = sets_.number_of(std::move(patterns));
    return packets;
  }

  std::vector<Way> ways_;
  size_t patterns_;
  PatternSets& sets_;
};

}  // namespace

void StateCount::add(std::string_view pattern) {
  const auto parts = std::ranges::mismatch(pattern, before_);
  states_ += static_cast<size_t>(pattern.end() - parts.in1);
  before_ = pattern;
}

PortGroups::PortGroups(std::span<const Signature> rules, std::span<const std::string> patterns_of_rules,
                       std::span<const uint32_t> pattern_of) {
  PatternSets sets(patterns_of_rules);
  for (uint32_t p = 0; p < kProtocols; ++p) {
    const auto protocol = static_cast<Protocol>(p);
    Finder finder(ways_of(rules, pattern_of, protocol), patterns_of_rules.size(), sets);
    without_ports[p] = finder.without_ports();
    if (protocol == Protocol::tcp) tcp = finder.with_ports();
    if (protocol == Protocol::udp) udp = finder.with_ports();
  }
  sets.share();
  std::vector<uint32_t> number(sets.count(), kNone);  // of the group that a set has become
  const auto to_group = [&](Packets& packets) {
    const uint32_t set = sets.group_of(packets.group);
    if (number[set] == kNone) {
      number[set] = static_cast<uint32_t>(patterns.size());
      each_bit(sets[set], [&list = patterns.emplace_back()](uint32_t p) { list.push_back(p); });
    }
    packets.group = number[set];
  };
  for (auto* list : {&tcp.pairs, &udp.pairs}) std::ranges::for_each(*list, to_group);
  std::ranges::for_each(without_ports, to_group);
}

}  // namespace heddle::nids
