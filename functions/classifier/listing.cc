#include "functions/classifier/listing.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

namespace heddle::classifier {
namespace {

/** Words for an object at `offset`, a multiple of 8. */
template <class T>
void add_words(std::vector<TableWord>& words, uint64_t offset, const T& object) {
  static_assert(sizeof(T) % sizeof(uint64_t) == 0);
  uint64_t values[sizeof(T) / sizeof(uint64_t)];
  std::memcpy(values, &object, sizeof object);
  for (const uint64_t value : values) {
    words.push_back({offset, value, sizeof value});
    offset += sizeof value;
  }
}

PlainRule plain(const SetRule& rule, uint32_t first_condition, size_t conditions) {
  PlainRule result{.outcome = {rule.number, rule.id, rule.rule.next},
                   .first_condition = first_condition,
                   .conditions = static_cast<uint32_t>(conditions)};
  std::ranges::copy(rule.rule.low, result.low);
  std::ranges::copy(rule.rule.high, result.high);
  return result;
}

}  // namespace

Listing::Listing(BuiltImage& built, SharedRules rules, const Layout& layout)
    : image_(&built.image()), rules_(std::move(rules)), layout_(layout), hidden_(std::move(built.hidden)) {
  for (uint32_t place = 0; place < rules_->size(); ++place) {  // those without an id stay
    const SetRule& rule = (*rules_)[place];
    if (rule.id != kNoId && rule.id >= places_.size()) places_.resize(std::bit_ceil(rule.id + size_t{1}), kNoRule);
    if (rule.id != kNoId) places_[rule.id] = place;
    if (image_->nodes != 0) built_conditions_ += static_cast<uint32_t>(rule.rule.more.size());
  }
}

std::optional<std::vector<PlainCondition>> Listing::conditions_of(const Rule& rule) const {
  std::vector<PlainCondition> conditions;
  for (const Condition& asked : rule.more) {
    const auto value = static_cast<uint32_t>(kFields + *find(layout_, asked.place));
    const auto add = [&](uint32_t shift, uint32_t mask) {
      for (uint32_t d = kFields; d < image_->dimension_count; ++d)
        if (const Dimension& one = image_->dimensions[d];
            one.value == value && one.shift == shift && one.mask == mask) {
          conditions.push_back({d, asked.mask >> shift & mask, asked.low >> shift & mask, asked.high >> shift & mask});
          return true;
        }
      return false;
    };
    if (add(0, ~0u)) continue;
    if (asked.low != asked.high) return std::nullopt;
    for (uint32_t shift = 0; shift < 32; shift += 8)
      if ((asked.mask >> shift & 0xff) != 0 && !add(shift, 0xff)) return std::nullopt;
  }
  return conditions;
}

std::optional<std::vector<SetRule>> Listing::uncovered(std::span<const uint32_t> gone) const {
  std::vector<uint32_t> places;
  for (const uint32_t id : gone) {
    const uint32_t place = place_of(id);
    for (auto pair = std::ranges::lower_bound(hidden_, std::pair(place, 0u));
         pair != hidden_.end() && pair->first == place; ++pair) {
      if (pair->second == place) return std::nullopt;
      places.push_back(pair->second);
    }
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<SetRule> result;
  for (const uint32_t place : places)
    if (const SetRule& rule = (*rules_)[place];
        place_of(rule.id) == place && !listed_.contains(rule.id) && std::ranges::find(gone, rule.id) == gone.end())
      result.push_back(rule);
  return result;
}

uint64_t Listing::end_of(uint32_t place) const {
  return image_->nodes != 0 ? image_->tree_rules + place * sizeof(PlainRule) + offsetof(PlainRule, end)
                            : image_->vector_rules + place * sizeof(VectorRule) + offsetof(VectorRule, end);
}

std::optional<std::vector<TableWord>> Listing::change(std::span<const SetRule> added, std::span<const uint32_t> gone) {
  auto uncovering = uncovered(gone);
  if (!uncovering) return std::nullopt;
  std::vector<SetRule>& entering = *uncovering;
  entering.insert(entering.end(), added.begin(), added.end());
  if (entering.size() > image_->most_listed - moment_.listed) return std::nullopt;
  std::vector<TableWord> words;
  uint32_t conditions = conditions_, listed = moment_.listed;
  for (const SetRule& rule : entering) {
    const auto asked = conditions_of(rule.rule);
    if (!asked || asked->size() > image_->most_listed * kListedConditions - conditions) return std::nullopt;
    add_words(words, image_->listed + listed++ * sizeof(PlainRule),
              plain(rule, built_conditions_ + conditions, asked->size()));
    for (const PlainCondition& condition : *asked)
      add_words(words, image_->conditions + (built_conditions_ + conditions++) * sizeof condition, condition);
  }
  const uint32_t next = moment_.number + 1;
  const auto end = [&](uint64_t offset) { words.push_back({offset, next, sizeof next}); };
  for (const uint32_t id : gone) {
    if (const uint32_t place = place_of(id); place != kNoRule) end(end_of(place)), places_[id] = kNoRule;
    if (const auto old = listed_.find(id); old != listed_.end()) {
      end(image_->listed + old->second * sizeof(PlainRule) + offsetof(PlainRule, end));
      listed_.erase(old);
    }
  }
  for (uint32_t i = 0; i < entering.size(); ++i) listed_[entering[i].id] = moment_.listed + i;
  conditions_ = conditions;
  moment_ = {next, listed};
  return words;
}

}  // namespace heddle::classifier
