#include "engine/tasks.h"

#include <algorithm>

#include "core/element.h"

namespace heddle {
namespace {

// By which input packets come to `node` that leave by `port`.
size_t input_before(const Node& node, int port) {
  for (size_t input = 0; input < node.pulls_from.size(); ++input)
    if (node.element->leads(static_cast<int>(input), port)) return input;
  return 0;
}

// Whether all outputs of `node` are pulled, and whoever pulls now has what comes (Shaper): to the engine one output.
bool has_one_way(const Node& node) {
  return node.element->limits_pull() && node.element->inputs == 1 && node.element->outputs > 1;
}

// The number among the targets of `node` of `target`, which pulls from output `port`.
int target_behind(const Node& node, int port, int target) {
  const size_t ports = node.targets.size() - node.more_pull.size();
  for (size_t i = ports; i < node.targets.size(); ++i)
    if (node.targets[i] == target && node.more_pull[i - ports] == port) return static_cast<int>(i);
  return port;
}

// What input `input` of node `entry` pulls from. Node -1: an input is not connected, which is reported. `forks`: those
// on the way from `entry` to what pulls.
PullPoint pull_point(const Router& router, int entry, size_t input, std::vector<PullPoint::Fork> forks) {
  PullPoint point{-1, entry, {}, std::move(forks), {}};
  for (;;) {
    const Node& puller = router.nodes[static_cast<size_t>(entry)];
    if (puller.pulls_from.empty()) return point;
    const int at = puller.pulls_from[input], port = puller.pulls_from_port[input];
    const Node& node = router.nodes[static_cast<size_t>(at)];
    if (node.source() != nullptr) {
      point.node = at, point.target = entry;
      return point;
    }
    if (has_one_way(node) || std::ranges::find(node.more_pull, port) != node.more_pull.end())
      point.forks.push_back({at, has_one_way(node) ? 0 : port, entry, target_behind(node, port, entry)});
    input = input_before(node, port);
    if (node.element->limits_pull())
      point.limits.push_back({at, node.element->inputs == 1 ? port : static_cast<int>(input)});
    if (dynamic_cast<PullScheduler*>(node.element.get()) != nullptr) {
      if (node.pulls_from.empty()) return point;
      point.node = at;
      for (size_t i = 0; i < node.pulls_from.size(); ++i)
        point.inputs.push_back(pull_point(router, at, i, point.forks));
      return point;
    }
    entry = at;
  }
}

}  // namespace

void find_tasks(Router& router) {
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    Node& node = router.nodes[i];
    const auto pulls = [](PortKind kind) { return kind == PortKind::pull; };
    const auto& [inputs, outputs] = node.kinds;
    const int self = static_cast<int>(i);
    if (node.source() != nullptr && !outputs.empty() && !pulls(outputs[0]))
      router.tasks.push_back({self, node.targets[0], -1});
    // A buffer pulls if its class says so; one that takes either way, such as Idle, does not.
    const bool waits = node.is_buffer() && node.element->processing()[0] != 'l';
    if (inputs.empty() || !pulls(inputs[0]) || waits) continue;
    node.pulled = true;
    if (!outputs.empty() && pulls(outputs[0])) continue;  // it only passes on
    if (node.predecessors.empty()) return;                // its input is not connected: reported
    PullPoint pull = pull_point(router, self, 0, {});
    const PullPoint* first = &pull;
    while (!first->inputs.empty()) first = &first->inputs[0];
    if (first->node < 0) return;
    router.tasks.push_back({first->node, first->target, self, pull});
  }
}

}  // namespace heddle
