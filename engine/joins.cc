#include "engine/joins.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "engine/plan.h"

namespace heddle {
namespace {

using Set = std::vector<bool>;  // of nodes; a GPU segment is represented by its first node

bool meets(const Set& a, const Set& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] && b[i]) return true;
  return false;
}

bool add(Set& to, const Set& more) {
  bool changed = false;
  for (size_t i = 0; i < to.size(); ++i)
    if (more[i] && !to[i]) to[i] = changed = true;
  return changed;
}

class Finder {
 public:
  explicit Finder(const std::vector<JoinNode>& nodes) : nodes_(nodes), first_(nodes.size()) {
    std::map<int, int> heads;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const int self = static_cast<int>(i);
      if (nodes[i].segment >= 0) heads.emplace(nodes[i].segment, self);
      first_[i] = nodes[i].segment < 0 || nodes[i].on_cpu_too ? self : heads[nodes[i].segment];
      begins_segment_.push_back(nodes[i].segment >= 0 && heads[nodes[i].segment] == self);
    }
    find_ways();
    if (std::none_of(joins_.begin(), joins_.end(), [](auto& join) { return join.ways.size() > 1; })) return;
    before_.assign(nodes.size(), Set(nodes.size(), false));
    beyond_ = before_;
    for (size_t i = 0; i < nodes.size(); ++i) {
      before_[i][i] = !nodes[i].entrance;  // packets do not part at an entrance: each task takes all that it gets
      beyond_[i][i] = true;
    }
    for (bool changed = true; changed;) {  // again for the ways back into buffers
      changed = false;
      for (const Join& join : joins_)
        for (const Join::Way& way : join.ways) {
          const size_t to = index(join.node), from = index(way.from);
          changed = add(beyond_[to], beyond_[from]) || changed;
          if (!nodes_[from].entrance && !nodes_[to].entrance) changed = add(before_[to], before_[from]) || changed;
        }
    }
  }

  Joins find() {
    joins_.erase(std::remove_if(joins_.begin(), joins_.end(), [](auto& join) { return join.ways.size() < 2; }),
                 joins_.end());
    for (Join& join : joins_) {
      join.ordered = look_at_pairs(join);
      for (size_t i = 0; i < nodes_.size(); ++i)
        if (begins_segment_[i] && i != index(join.node) && upstream(join, i))
          join.segments.push_back(nodes_[i].segment);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (Join& join : joins_) {
        if (join.ordered || !leads_to_ordered(join) || !may_be_late(join)) continue;
        join.ordered = changed = true;
      }
    }
    Joins result{std::move(joins_), Set(nodes_.size(), false)};
    for (const Join& join : result.list)
      if (join.ordered)
        for (size_t i = 0; i < nodes_.size(); ++i)
          if (static_cast<int>(i) == join.node || upstream(join, index(first_[i]))) result.numbered[i] = true;
    std::erase_if(result.list, [](auto& join) { return !join.ordered && join.ends.empty(); });
    return result;
  }

 private:
  static size_t index(int node) { return static_cast<size_t>(node); }

  // Nodes and outputs, in the order in which copies of a packet would go along them one by one, the first to its end.
  std::vector<std::pair<size_t, size_t>> depth_first() const {
    std::vector<std::pair<size_t, size_t>> connections, way;  // way: from where the search began; its next outputs
    Set seen(nodes_.size(), false);
    const auto enter = [&](size_t i) {
      if (!seen[i]) way.emplace_back(i, 0);
      seen[i] = true;
    };
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (enter(i); !way.empty();) {
        auto& [at, port] = way.back();
        if (port == nodes_[at].targets.size()) {
          way.pop_back();
        } else {
          connections.emplace_back(at, port);
          enter(index(nodes_[at].targets[port++]));
        }
      }
    return connections;
  }

  // For now one entry in joins_ a node that any way leads to.
  void find_ways() {
    std::map<int, Join> found;
    for (const auto& [i, port] : depth_first()) {
      const int to = first_[index(nodes_[i].targets[port])], from = first_[i];
      if (to == from && nodes_[i].segment >= 0 && !nodes_[i].on_cpu_too) continue;  // within a segment
      Join& join = found[to];
      join.node = to;
      const auto add_way = [&join](Join::Way way) {
        const auto same = [&](auto& other) { return other.from == way.from && other.output == way.output; };
        if (std::none_of(join.ways.begin(), join.ways.end(), same)) join.ways.push_back(way);
      };
      add_way({from, nodes_[i].copies ? static_cast<int>(port) : Join::Way::kAnyOutput});
      if (nodes_[i].holds) add_way({from, Join::Way::kLate});
    }
    for (auto& entry : found) joins_.push_back(std::move(entry.second));
  }

  // Whether packets can come from node `i` to the join without a buffer between.
  bool upstream(const Join& join, size_t i) const {
    return std::any_of(join.ways.begin(), join.ways.end(), [&](auto& way) {
      return !nodes_[index(way.from)].entrance ? before_[index(way.from)][i] : way.from == static_cast<int>(i);
    });
  }

  // Whether two ways come from one node. Notes if order ends all the same.
  bool look_at_pairs(Join& join) const {
    bool ordered = false;
    for (size_t b = 0; b < join.ways.size(); ++b)
      for (size_t a = 0; a < b; ++a) {
        const Join::Way &one = join.ways[a], &other = join.ways[b];
        if (one.output == Join::Way::kLate || other.output == Join::Way::kLate) continue;
        const bool part =
            may_part(one.from) && may_part(other.from) && meets(before_[index(one.from)], before_[index(other.from)]);
        ordered = ordered || part;
        if (join.ends.empty()) join.ends = part ? held_back(one, other) : waits(join, one, other);
      }
    return ordered;
  }
  bool may_part(int from) const { return !nodes_[index(from)].entrance; }

  // An element between the split and the join that may keep packets.
  std::string held_back(const Join::Way& one, const Join::Way& other) const {
    for (size_t i = 0; i < nodes_.size(); ++i)
      for (auto& [way, against] : {std::pair(one, other), std::pair(other, one)})
        if (nodes_[i].holds && before_[index(way.from)][i] && meets(before_[i], before_[index(against.from)]))
          return "'" + nodes_[i].name + "' may keep packets back on one of the ways";
    return {};
  }

  // A buffer between them, where one of the ways begins.
  std::string waits(const Join& join, const Join::Way& one, const Join::Way& other) const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].entrance || static_cast<int>(i) == join.node) continue;
      for (auto& [way, against] : {std::pair(one, other), std::pair(other, one)})
        if (starts_at(way, i) && meets(without(beyond_[i], i), beyond_[index(against.from)]))
          return "packets wait in '" + nodes_[i].name + "' on one of the ways";
    }
    return {};
  }
  static Set without(Set set, size_t i) {
    set[i] = false;
    return set;
  }
  // Whether packets of entrance `i` take the way, with no buffer between.
  bool starts_at(const Join::Way& way, size_t i) const {
    if (way.from == static_cast<int>(i)) return true;
    if (nodes_[index(way.from)].entrance) return false;
    return std::any_of(nodes_[i].targets.begin(), nodes_[i].targets.end(),
                       [&](int target) { return before_[index(way.from)][index(first_[index(target)])]; });
  }

  bool leads_to_ordered(const Join& join) const {
    if (nodes_[index(join.node)].entrance) return false;
    return std::any_of(joins_.begin(), joins_.end(), [&](const Join& behind) {
      return behind.ordered && behind.node != join.node && upstream(behind, index(join.node));
    });
  }
  bool may_be_late(const Join& join) const {
    return !join.segments.empty() || std::any_of(joins_.begin(), joins_.end(), [&](const Join& other) {
      return other.ordered && other.node != join.node && upstream(join, index(other.node));
    });
  }

  const std::vector<JoinNode>& nodes_;
  std::vector<int> first_;            // node that stands for it: the first of its GPU segment
  std::vector<bool> begins_segment_;  // by node
  std::vector<Join> joins_;
  std::vector<Set> before_, beyond_;  // nodes that packets may have been at before (and at it); beyond buffers as well;
                                      // none if no ways meet
};

}  // namespace

Joins find_joins(const std::vector<JoinNode>& nodes) { return Finder(nodes).find(); }

namespace passes {

void find_joins(const Router& router, Plan& plan) {
  std::vector<JoinNode> nodes;
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    const Node& node = router.nodes[i];
    const NodePlan& here = plan.nodes[i];
    nodes.push_back({node.targets, here.processor.is_gpu() ? here.segment : -1, node.source() != nullptr,
                     node.element->copies() > 1, dynamic_cast<const Emitter*>(node.element.get()) != nullptr,
                     node.element->name, here.has_both()});
  }
  plan.joins = heddle::find_joins(nodes);
}

}  // namespace passes
}  // namespace heddle
