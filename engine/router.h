#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"
#include "core/element.h"

namespace heddle {

/** One element of a chain and where its packets go. */
struct Node {
  std::unique_ptr<Element> element;
  click::Location where;
  std::vector<int> targets;         ///< node behind each output port
  std::vector<int> predecessors;    ///< nodes that lead here, each once
  std::optional<Processor> device;  ///< from the argument DEVICE
  bool blocking = true;             ///< from BLOCKING: wait for a free slot, or drop and count
};

/** A chain that has been read, resolved and checked: the first pass of the plan. */
struct Router {
  std::vector<Node> nodes;  ///< topologically sorted: packets only go to higher indices

  /** Makes and configures the elements of `graph` and checks ports and cycles. Every mistake goes to `diagnostics`; the
   *  result is usable only if there is none. */
  static Router build(const click::Graph& graph, click::Diagnostics& diagnostics);
  int find(std::string_view name) const;  ///< -1 = none
};

}  // namespace heddle
