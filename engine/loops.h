#pragma once

#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"
#include "engine/processing.h"
#include "engine/router.h"

namespace heddle {

/** The order in which packets pass the nodes, in which each stands before its targets but for buffers. A loop that
 *  packets can leave gets a buffer at its end: a Pipeliner, which is appended to `nodes` and `kinds`, and stands in
 *  between in `graph`'s connections. `on_cycle`: the nodes of loops that are left; empty if there are none. */
std::vector<int> order_of(std::vector<Node>& nodes, std::vector<PortKinds>& kinds, click::Graph& graph,
                          std::vector<int>& on_cycle, click::Diagnostics& diagnostics);

/** Whether a way leads from `node` back to it. */
bool comes_back(const std::vector<Node>& nodes, int node);

}  // namespace heddle
