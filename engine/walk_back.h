#pragma once

#include <vector>

#include "engine/router.h"

namespace heddle {

/** Calls visit(node) for the nodes that packets may have passed on their way to node `to`, each once. It says whether
 *  those before that node are to be visited, too. */
template <class Visit>
void walk_back(const Router& router, int to, const Visit& visit) {
  std::vector<int> open{to};
  std::vector<bool> seen(router.nodes.size());
  while (!open.empty()) {
    const int here = open.back();
    open.pop_back();
    for (const int before : router.nodes[static_cast<size_t>(here)].predecessors) {
      if (seen[static_cast<size_t>(before)]) continue;
      seen[static_cast<size_t>(before)] = true;
      if (visit(before)) open.push_back(before);
    }
  }
}

}  // namespace heddle
