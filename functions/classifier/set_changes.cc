#include "functions/classifier/set_changes.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

namespace heddle::classifier {

void SetChanges::add(std::span<const SetRule> more, std::span<const uint32_t> fewer) {
  for (const uint32_t id : fewer)
    if (added.erase(id) == 0) gone.push_back(id);
  for (const SetRule& rule : more) added.insert_or_assign(rule.id, rule);
}

std::vector<SetRule> SetChanges::made_to(const std::vector<SetRule>& rules) const {
  const std::unordered_set<uint32_t> without(gone.begin(), gone.end());
  std::vector<SetRule> result;
  result.reserve(rules.size() + added.size());
  std::ranges::copy_if(rules, std::back_inserter(result),
                       [&](const SetRule& one) { return !without.contains(one.id); });
  for (const auto& [id, rule] : added) result.push_back(rule);
  std::ranges::sort(result, {}, &SetRule::number);
  return result;
}

}  // namespace heddle::classifier
