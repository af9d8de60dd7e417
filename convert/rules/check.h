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

/** Looks for them. A rule is cleared by a packet of its own that no rule before it matches; the packets of those that are not
 *  are cut along the rules before them, until nothing is left or `most_pieces` have been cut. Exact for rules that ask for
 *  ranges; for those that ask for some bits of a field only rules that each cover them are found. */
Shadows find_shadows(const std::vector<ListedRule>& rules, size_t most_pieces = 20'000);

}  // namespace heddle::classifier
