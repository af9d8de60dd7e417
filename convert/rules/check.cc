#include "convert/rules/check.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>

#include "functions/classifier/engine.h"
#include "functions/classifier/rule_set.h"

namespace heddle::classifier {
namespace {

/** A set of packets: a range of each value, as a Rule has for the 5-tuple. */
struct Box {
  std::vector<uint32_t> low, high;
};

bool has_bits(const Rule& rule) {
  return std::ranges::any_of(rule.more, [](const Condition& c) { return c.mask != c.place.largest(); });
}

Box box_of(const Rule& rule, const Layout& layout) {
  Box box{{rule.low.begin(), rule.low.end()}, {rule.high.begin(), rule.high.end()}};
  for (const Place& place : layout) box.low.push_back(0), box.high.push_back(place.largest());
  for (const Condition& condition : rule.more)
    if (condition.mask == condition.place.largest()) {
      const size_t at = kFields + *find(layout, condition.place);
      box.low[at] = condition.low, box.high[at] = condition.high;
    }
  return box;
}

bool apart(const Box& one, const Box& other) {
  for (size_t f = 0; f < one.low.size(); ++f)
    if (one.high[f] < other.low[f] || other.high[f] < one.low[f]) return true;
  return false;
}

/** What is left of `box` without `hole`, which it overlaps. */
void cut(Box box, const Box& hole, std::vector<Box>& left) {
  for (size_t f = 0; f < box.low.size(); ++f) {
    if (box.low[f] < hole.low[f]) {
      left.push_back(box);
      left.back().high[f] = hole.low[f] - 1;
      box.low[f] = hole.low[f];
    }
    if (box.high[f] > hole.high[f]) {
      left.push_back(box);
      left.back().low[f] = hole.high[f] + 1;
      box.high[f] = hole.high[f];
    }
  }
}

/** Whether all that `rule` asks for by bits is asked for by `other` as well. */
bool bits_follow(const Rule& rule, const Rule& other) {
  return std::ranges::all_of(rule.more, [&](const Condition& condition) {
    if (condition.mask == condition.place.largest()) return true;
    const auto same = std::ranges::find(other.more, condition.place, &Condition::place);
    return same != other.more.end() && same->low == same->high && (same->mask & condition.mask) == condition.mask &&
           (same->low & condition.mask) == condition.low;
  });
}

class Search {
 public:
  Search(const std::vector<ListedRule>& rules, Patience patience) : patience_(patience) {
    for (const ListedRule& rule : rules) add_places(layout_, rule.rule);
    for (size_t rule = 0; rule < rules.size(); ++rule)
      for (Rule& part : parts(rules[rule].rule)) {
        completed_.push_back(std::move(part));
        complete(completed_.back(), layout_);
        rule_of_.push_back(rule);
      }
    parts_.resize(rules.size());
    for (const size_t rule : rule_of_) ++parts_[rule];
    for (const Rule& rule : completed_) boxes_.push_back(box_of(rule, layout_));
  }

  Shadows run() {
    Shadows shadows;
    for (const size_t part : suspects()) analyse(part, shadows);
    return of_rules(shadows);
  }

 private:
  static constexpr int kPackets = 6;

  /** What is so of all parts of a rule, of the rule. */
  Shadows of_rules(const Shadows& of_parts) const {
    Shadows shadows;
    std::map<size_t, std::pair<size_t, std::set<size_t>>> found;  // parts, and by which rules
    std::map<size_t, size_t> undecided;
    for (const auto& [part, by] : of_parts.found) {
      auto& [count, rules] = found[rule_of_[part]];
      ++count;
      for (const size_t one : by) rules.insert(rule_of_[one]);
    }
    for (const size_t part : of_parts.undecided) ++undecided[rule_of_[part]];
    for (const auto& [rule, what] : found)
      if (what.first == parts_[rule]) shadows.found.push_back({rule, first_of(what.second)});
    for (const auto& [rule, count] : undecided)
      if (const auto also = found.find(rule); count + (also == found.end() ? 0 : also->second.first) == parts_[rule])
        shadows.undecided.push_back(rule);
    return shadows;
  }

  static std::vector<size_t> first_of(const std::set<size_t>& rules) {
    constexpr size_t kMax = 8;
    std::vector<size_t> result(rules.begin(), rules.end());
    result.resize(std::min(result.size(), kMax));
    return result;
  }

  /** Rules of which no packet that has been tried hits them. */
  std::vector<size_t> suspects() const {
    const auto engine = make_engine(EngineKind::tuple, {0, SIZE_MAX, layout_});
    RuleSet set;
    set.load(completed_, 1, *engine);
    engine->start();
    std::vector<size_t> result;
    std::mt19937 random(1);
    std::vector<std::array<uint32_t, kPackets>> values(kFields + layout_.size());
    std::vector<const uint32_t*> keys;
    for (const auto& value : values) keys.push_back(value.data());
    for (size_t r = 0; r < boxes_.size(); ++r) {
      for (size_t f = 0; f < values.size(); ++f)
        for (size_t k = 0; k < kPackets; ++k) values[f][k] = value(boxes_[r], f, k, random);
      for (const Condition& condition : completed_[r].more)
        for (uint32_t& value : values[kFields + *find(layout_, condition.place)])
          if (condition.mask != condition.place.largest()) value = (value & ~condition.mask) | condition.low;
      for (size_t p = 0; p < layout_.size(); ++p)
        if (layout_[p].kind == Place::field) tie(values, p, completed_[r]);
      Outcome outcomes[kPackets];
      engine->classify(keys.data(), outcomes, kPackets);
      if (std::ranges::none_of(outcomes, [&](const Outcome& outcome) { return outcome.number == r; }))
        result.push_back(r);
    }
    return result;
  }

  static uint32_t value(const Box& box, size_t f, size_t packet, std::mt19937& random) {
    const uint64_t size = uint64_t{box.high[f]} - box.low[f] + 1;
    return packet == 0 ? box.low[f] : packet == 1 ? box.high[f] : box.low[f] + static_cast<uint32_t>(random() % size);
  }

  /** A field and the place that stands for its bits have the same value. */
  void tie(std::vector<std::array<uint32_t, kPackets>>& values, size_t place, const Rule& rule) const {
    const size_t f = layout_[place].offset;
    const bool bits = std::ranges::find(rule.more, layout_[place], &Condition::place) != rule.more.end();
    (bits ? values[f] : values[kFields + place]) = bits ? values[kFields + place] : values[f];
  }

  /** Follows one piece of the rule's packets after the other through the rules before it, until one comes out behind
   *  them. */
  void analyse(size_t rule, Shadows& shadows) {
    std::vector<std::pair<Box, size_t>> left{{boxes_[rule], 0}};
    std::vector<Box> parts;
    std::set<size_t> by;
    bool inexact = has_bits(completed_[rule]);
    uint64_t steps = 0;
    const uint64_t most = std::min(patience_.for_one, patience_.in_all);
    const auto count = [&](uint64_t more) {
      steps += more;
      patience_.in_all -= std::min(patience_.in_all, more);
      return steps <= most;
    };
    while (!left.empty()) {
      auto [box, before] = std::move(left.back());
      left.pop_back();
      const size_t first = before;
      const size_t last = std::min<size_t>(rule, before + most - std::min(most, steps));
      for (; before < last; ++before) {
        if (apart(boxes_[before], box)) continue;
        if (bits_follow(completed_[before], completed_[rule])) break;
        inexact = true;
      }
      if (!count(before - first + 1) || (before == last && last < rule)) return shadows.undecided.push_back(rule);
      if (before == rule) {
        if (inexact) shadows.undecided.push_back(rule);
        return;
      }
      by.insert(before);
      parts.clear();
      cut(box, boxes_[before], parts);
      for (Box& part : parts) left.emplace_back(std::move(part), before + 1);
      if (!count(parts.size())) return shadows.undecided.push_back(rule);
    }
    shadows.found.push_back({rule, {by.begin(), by.end()}});
  }

  Patience patience_;
  Layout layout_;
  std::vector<Rule> completed_;  // parts of the rules
  std::vector<size_t> rule_of_;  // of each part
  std::vector<size_t> parts_;    // how many each rule has
  std::vector<Box> boxes_;
};

}  // namespace

Shadows find_shadows(const std::vector<ListedRule>& rules, Patience patience) {
  if (rules.empty()) return {};
  return Search(rules, patience).run();
}

}  // namespace heddle::classifier
