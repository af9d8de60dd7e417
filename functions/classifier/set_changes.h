#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** What has changed in a set of rules. */
struct SetChanges {
  void add(std::span<const SetRule> more, std::span<const uint32_t> fewer);
  /** The rules that `rules` have become, ascending by number. */
  std::vector<SetRule> made_to(const std::vector<SetRule>& rules) const;

  std::unordered_map<uint32_t, SetRule> added;  // by id
  std::vector<uint32_t> gone;                   // ids
};

}  // namespace heddle::classifier
