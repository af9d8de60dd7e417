#pragma once

#include <string>
#include <vector>

#include "convert/rules/rule_list.h"

namespace heddle::classifier {

/** Rules that no packet can hit. */
struct Shadows {
  struct One {
    size_t rule;             ///< index into the list
    std::vector<size_t> by;  ///< those before it that take all its packets, the first 8 of them
  };
  std::vector<One> found;
  std::vector<size_t> undecided;  ///< rules whose analysis took too long, or asks for bits of fields
};

/** How long to look: comparisons of a piece of a rule's packets with a rule, and pieces that they are cut into. */
struct Patience {
  uint64_t for_one = 50'000'000, in_all = 1'000'000'000;
};

/** Looks for them. A rule is cleared by a packet of its own that no rule before it matches; the packets of those that
 *  are not are cut along the rules before them, until nothing is left or patience is at its end. Exact for rules that
 *  ask for ranges; for those that ask for some bits of a field only rules that each cover them are found. */
Shadows find_shadows(const std::vector<ListedRule>& rules, Patience patience = {});

}  // namespace heddle::classifier
