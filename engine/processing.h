#pragma once

#include <vector>

#include "click/diagnostics.h"
#include "click/graph.h"
#include "core/element.h"

namespace heddle {

/** Who moves packets over a connection: the element before it pushes, or the one behind it pulls. */
enum class PortKind : uint8_t { agnostic, push, pull };

/** The kinds of an element's ports, by port number. */
struct PortKinds {
  std::vector<PortKind> inputs, outputs;
};

/** Resolves the ports of a graph as Click does: both ends of a connection are of one kind, and so are all agnostic
 *  ports of an element; what stays open is push. `elements` stand as in `graph`, null for those that could not be made.
 *  Connections that join push and pull, outputs that push to two places and inputs that pull from two go to
 *  `diagnostics`. */
std::vector<PortKinds> resolve_ports(const click::Graph& graph, const std::vector<Element*>& elements,
                                     click::Diagnostics& diagnostics);

}  // namespace heddle
