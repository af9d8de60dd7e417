#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/router.h"

namespace heddle {

/** Calls visit(node) for the nodes that packets may have passed on their way to node `to`, each once. It says whether
 *  those before that node are to be visited, too. */
template <class Visit>
void walk_back(const Router& router, int to, const Visit& visit) {
  std::set<std::pair<int, int>> found;                            // connections: from, to
  std::vector<std::pair<int, int>> open;                          // those of them whose first node is to be visited
  std::vector<std::optional<bool>> goes_on(router.nodes.size());  // what visit() has said
  const auto find_before = [&](int here, int behind) {
    const Node& node = router.nodes[static_cast<size_t>(here)];
    for (const int before : node.predecessors) {
      bool comes = behind < 0;
      for (size_t target = 0; target < node.targets.size() && !comes; ++target)
        comes = node.targets[target] == behind && node.leads_from(before, target);
      if (comes && found.emplace(before, here).second) open.emplace_back(before, here);
    }
  };
  find_before(to, -1);
  while (!open.empty()) {
    const auto [here, behind] = open.back();
    open.pop_back();
    std::optional<bool>& on = goes_on[static_cast<size_t>(here)];
    if (!on) on = visit(here);
    if (*on) find_before(here, behind);
  }
}

}  // namespace heddle
