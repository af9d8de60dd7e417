#include "engine/loops.h"

#include <algorithm>
#include <optional>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {
namespace {

// Kahn's algorithm; nodes that remain lie on a cycle, or behind one.
std::vector<int> topological_order(const std::vector<Node>& nodes, const std::vector<bool>& may_go_back,
                                   std::vector<int>& on_cycle) {
  std::vector<int> waiting(nodes.size()), order;
  const auto counts = [&](int target) { return !may_go_back[static_cast<size_t>(target)]; };
  for (auto& node : nodes)
    for (int target : node.targets) waiting[static_cast<size_t>(target)] += counts(target);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] == 0) order.push_back(static_cast<int>(i));
  for (size_t k = 0; k < order.size(); ++k)
    for (int target : nodes[static_cast<size_t>(order[k])].targets)
      if (counts(target) && --waiting[static_cast<size_t>(target)] == 0) order.push_back(target);
  on_cycle.clear();
  for (size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] > 0) on_cycle.push_back(static_cast<int>(i));
  return order;
}

// A cycle is allowed if packets wait in a buffer on it: the edges into such buffers do not count.
std::vector<int> order_of(const std::vector<Node>& nodes, std::vector<int>& on_cycle) {
  std::vector<bool> may_go_back(nodes.size(), false);
  std::vector<int> order = topological_order(nodes, may_go_back, on_cycle);
  if (on_cycle.empty()) return order;
  for (int i : on_cycle) may_go_back[static_cast<size_t>(i)] = nodes[static_cast<size_t>(i)].is_buffer();
  return topological_order(nodes, may_go_back, on_cycle);
}

/** Whether a way leads from `from` to `to` on which packets do not wait in a buffer. */
bool leads_to(const std::vector<Node>& nodes, int from, int to) {
  std::vector<bool> seen(nodes.size());
  std::vector<int> open{from};
  while (!open.empty()) {
    const auto here = static_cast<size_t>(open.back());
    open.pop_back();
    for (int target : nodes[here].targets) {
      if (target == to) return true;
      const auto next = static_cast<size_t>(target);
      if (!seen[next] && !nodes[next].is_buffer()) seen[next] = true, open.push_back(target);
    }
  }
  return false;
}

/** What pushes packets back to an element that stands before it: an output of `from`. */
struct LoopEnd {
  int from;
  size_t port;
};

/** The end of a loop among `on_cycle` that packets can leave: an element on it sends them one way or another, and one
 *  of these ways does not come back; or they come to an input there whose packets do not go on round the loop. */
std::optional<LoopEnd> find_loop_end(const std::vector<Node>& nodes, const std::vector<PortKinds>& kinds,
                                     const click::Graph& graph, const std::vector<int>& on_cycle) {
  for (const int from : on_cycle) {
    const Node& node = nodes[static_cast<size_t>(from)];
    for (size_t port = 0; port < node.targets.size() - node.more_pull.size(); ++port) {
      const int to = node.targets[port];
      const bool pushes = kinds[static_cast<size_t>(from)].outputs[port] == PortKind::push;
      if (to > from || !pushes || !(to == from || leads_to(nodes, to, from))) continue;
      const auto on_loop = [&](int i) {
        return (i == to || leads_to(nodes, to, i)) && (i == from || leads_to(nodes, i, from));
      };
      const auto leaves = [&](int i) {
        const Node& chooser = nodes[static_cast<size_t>(i)];
        return chooser.element->copies() == 1 && on_loop(i) &&
               std::any_of(chooser.targets.begin(), chooser.targets.end(),
                           [&](int target) { return !on_loop(target); });
      };
      const auto ends = [&](const click::Connection& c) {
        const Element& element = *nodes[static_cast<size_t>(c.to)].element;
        if (!element.tells_inputs() || !on_loop(c.from) || !on_loop(c.to)) return false;
        const auto& outputs = nodes[static_cast<size_t>(c.to)].targets;
        for (size_t output = 0; output < outputs.size(); ++output)
          if (on_loop(outputs[output]) && element.leads(c.to_port, static_cast<int>(output))) return false;
        return true;
      };
      if (std::ranges::any_of(on_cycle, leaves) || std::ranges::any_of(graph.connections, ends))
        return LoopEnd{from, port};
    }
  }
  return std::nullopt;
}

/** Puts a buffer where a loop ends: packets go round when those before them are done, as others that arrive. */
void put_buffer(std::vector<Node>& nodes, std::vector<PortKinds>& kinds, click::Graph& graph, LoopEnd end,
                click::Diagnostics& diagnostics) {
  const auto buffer = static_cast<int>(nodes.size());
  Node& from = nodes[static_cast<size_t>(end.from)];
  int& target = from.targets[end.port];
  click::ElementDeclaration declaration;
  declaration.name = from.element->name + format("[%zu]loop", end.port);
  declaration.class_name = "Pipeliner", declaration.where = from.where;
  declaration.arguments = {{"BLOCKING false", from.where}};
  const auto back = std::find_if(graph.connections.begin(), graph.connections.end(), [&](const click::Connection& c) {
    return c.from == end.from && static_cast<size_t>(c.from_port) == end.port;
  });
  const click::Connection around = {buffer, 0, back->to, back->to_port, back->where};
  back->to = buffer, back->to_port = 0;
  graph.connections.push_back(around);
  Node node;
  node.element = Catalog::instance().find(declaration.class_name)->make(), node.where = declaration.where;
  node.element->name = declaration.name, node.element->class_name = declaration.class_name;
  node.element->inputs = node.element->outputs = 1;
  click::Arguments arguments(declaration, diagnostics);
  node.element->configure(arguments);
  node.targets = {target}, target = buffer;
  nodes.push_back(std::move(node));
  kinds.push_back({{PortKind::push}, {PortKind::push}});
}

}  // namespace

bool comes_back(const std::vector<Node>& nodes, int node) {
  std::vector<bool> seen(nodes.size());
  std::vector<int> open{node};
  while (!open.empty()) {
    const auto here = static_cast<size_t>(open.back());
    open.pop_back();
    for (int target : nodes[here].targets) {
      if (target == node) return true;
      if (!seen[static_cast<size_t>(target)]) seen[static_cast<size_t>(target)] = true, open.push_back(target);
    }
  }
  return false;
}

std::vector<int> order_of(std::vector<Node>& nodes, std::vector<PortKinds>& kinds, click::Graph& graph,
                          std::vector<int>& on_cycle, click::Diagnostics& diagnostics) {
  std::vector<int> order = order_of(nodes, on_cycle);
  while (!on_cycle.empty()) {
    const std::optional<LoopEnd> end = find_loop_end(nodes, kinds, graph, on_cycle);
    if (!end) break;
    put_buffer(nodes, kinds, graph, *end, diagnostics);
    order = order_of(nodes, on_cycle);
  }
  return order;
}

}  // namespace heddle
