#include "functions/classifier/rule_set.h"

#include <algorithm>

#include "core/error.h"
#include "functions/classifier/field.h"

namespace heddle::classifier {

namespace {

std::vector<SetRule> in_parts(std::vector<SetRule> rules) {
  if (std::ranges::all_of(rules, [](const SetRule& one) { return one.rule.wide.empty(); })) return rules;
  std::vector<SetRule> result;
  result.reserve(rules.size());
  for (SetRule& one : rules)
    for (Rule& part : parts(one.rule)) result.push_back({one.number, one.id, std::move(part)});
  return result;
}

}  // namespace

void RuleEngine::change(std::span<const SetRule>, std::span<const uint32_t>, const RuleSet& all) { load(all.sorted()); }

uint32_t RuleSet::take_id() {
  if (free_.empty() && next_id_ == kMaxRules)
    throw Error(format("no room for more than %u rules, those included that are about to go", kMaxRules));
  const uint32_t id = free_.empty() ? next_id_++ : free_.back();
  if (!free_.empty()) free_.pop_back();
  on_new_id(id);
  return id;
}

void RuleSet::free_ids(std::span<const SetRule> rules) {
  for (const SetRule& rule : rules) free_.push_back(rule.id);
}

void RuleSet::load(std::span<const Rule> rules, uint32_t step, RuleEngine& engine) {
  if (rules.size() * uint64_t{step} > kNoRule)
    throw Error(format("%zu rules in steps of %u need numbers above %u", rules.size(), step, kNoRule - 1));
  std::vector<SetRule> set;
  set.reserve(rules.size());
  for (const Rule& rule : rules) set.push_back({static_cast<uint32_t>(set.size()) * step, kNoId, rule});
  load(std::move(set), engine);
}

void RuleSet::load(std::vector<SetRule> rules, RuleEngine& engine) {
  const size_t count = rules.size();
  std::vector<SetRule> set = in_parts(std::move(rules));
  if (set.size() > kMaxRules) throw Error(format("%zu rules, and there is room for %u", set.size(), kMaxRules));
  size_t with_id = 0;
  try {
    for (SetRule& rule : set) rule.id = take_id(), ++with_id;
    engine.load(set);
  } catch (...) {
    free_ids(std::span(set).first(with_id));
    throw;
  }
  for (const auto& [number, rule] : rules_) retired_.push_back(rule.id);
  rules_.clear();
  for (const SetRule& rule : set) rules_.emplace_hint(rules_.end(), rule.number, rule);
  count_ = count;
}

void RuleSet::change(std::span<const RuleChange> changes, RuleEngine& engine) {
  std::vector<SetRule> added, before;
  std::vector<uint32_t> gone;
  try {
    for (const RuleChange& change : changes)
      if (change.rule)
        for (Rule& part : parts(*change.rule)) added.push_back({change.number, take_id(), std::move(part)});
  } catch (...) {
    free_ids(added);
    throw;
  }
  const size_t count = count_;
  for (const RuleChange& change : changes) {
    const auto [first, last] = rules_.equal_range(change.number);
    count_ += (change.rule ? 1 : 0) - (first != last ? size_t{1} : 0);
    for (auto old = first; old != last; ++old) {
      before.push_back(old->second);
      gone.push_back(old->second.id);
    }
    rules_.erase(first, last);
  }
  for (const SetRule& rule : added) rules_.emplace(rule.number, rule);
  try {
    engine.change(added, gone, *this);
  } catch (...) {
    for (const SetRule& rule : added) rules_.erase(rule.number);
    for (const SetRule& rule : before) rules_.emplace(rule.number, rule);
    count_ = count;
    for (const SetRule& rule : added) retired_.push_back(rule.id);  // the engine may have begun
    throw;
  }
  retired_.insert(retired_.end(), gone.begin(), gone.end());
}

void RuleSet::swap(RuleSet& other) {
  std::swap(*this, other);
  on_new_id.swap(other.on_new_id);
}

const SetRule* RuleSet::find(uint32_t number) const {
  const auto found = rules_.find(number);
  return found == rules_.end() ? nullptr : &found->second;
}

std::vector<uint32_t> RuleSet::ids(uint32_t number) const {
  std::vector<uint32_t> result;
  const auto [first, last] = rules_.equal_range(number);
  for (auto part = first; part != last; ++part) result.push_back(part->second.id);
  return result;
}

std::vector<SetRule> RuleSet::sorted() const {
  std::vector<SetRule> result;
  result.reserve(rules_.size());
  for (const auto& [number, rule] : rules_) result.push_back(rule);
  return result;
}

void RuleSet::reclaim() {
  free_.insert(free_.end(), unlinked_.begin(), unlinked_.end());
  unlinked_ = std::exchange(retired_, {});
}

}  // namespace heddle::classifier
