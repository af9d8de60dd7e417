#include "engine/plan.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "gpu/functions.h"

namespace heddle {
namespace passes {
namespace {

bool is_neutral(const Router& router, int i) {
  return router.nodes[static_cast<size_t>(i)].element->neutral().has_value();
}

int head_behind(const Node& node, int head) { return head + node.element->moves_head(); }

// A GPU cannot tell how much room lies before a packet, so it never moves the start before where the frame began.
std::vector<int> heads(const Router& router) {
  std::vector<int> head(router.nodes.size(), 0);
  for (size_t i = 0; i < router.nodes.size(); ++i)
    for (int target : router.nodes[i].targets)
      head[static_cast<size_t>(target)] = head_behind(router.nodes[i], head[i]);
  return head;
}

}  // namespace

void place(const Router& router, Plan& plan) {
  const size_t n = router.nodes.size();
  plan.nodes.assign(n, {});
  const Processor fallback = plan.options.device == "cpu" ? Processor::cpu : Processor::gpu;
  for (size_t i = 0; i < n; ++i) {
    const Node& node = router.nodes[i];
    if (gpu::function_id(node.element->class_name) >= 0) plan.nodes[i].processor = node.device.value_or(fallback);
  }
  const std::vector<int> head = heads(router);
  auto on_gpu = [&](int i) { return plan.nodes[static_cast<size_t>(i)].processor == Processor::gpu; };
  auto may_follow = [&](size_t i) {
    return is_neutral(router, static_cast<int>(i)) && head_behind(router.nodes[i], head[i]) >= 0;
  };
  // Neutral elements between GPU functions stay there: everything behind them is on the GPU, and something before is.
  std::vector<bool> behind(n, false);
  for (size_t i = n; i-- > 0;) {
    if (!may_follow(i) || router.nodes[i].targets.empty()) continue;
    behind[i] = std::all_of(router.nodes[i].targets.begin(), router.nodes[i].targets.end(),
                            [&](int t) { return on_gpu(t) || behind[static_cast<size_t>(t)]; });
  }
  for (size_t i = 0; i < n; ++i) {
    if (!behind[i]) continue;
    // GetIPAddress right before a GPU function reads the packet; on the GPU, the CPU need not touch it at all.
    const bool loads = router.nodes[i].element->neutral()->kind == NeutralOp::kLoadDst;
    const bool after_one =
        std::any_of(router.nodes[i].predecessors.begin(), router.nodes[i].predecessors.end(), on_gpu);
    if (loads || after_one) plan.nodes[i].processor = Processor::gpu;
  }
}

void follow(const Router& router, Plan& plan, click::Diagnostics& diagnostics) {
  const size_t n = router.nodes.size();
  std::vector<bool> reached(n, false);
  for (auto& node : plan.nodes) node.columns = kAllColumns;
  // Edges that go back (into a buffer) are followed until nothing changes; without them the first round settles it.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < n; ++i) {
      const Node& node = router.nodes[i];
      NodePlan& here = plan.nodes[i];
      if (node.predecessors.empty()) here.columns = columns(Column::paint);  // the engine clears it
      const Access access = node.element->access(here.processor);
      here.copy_first = here.shared && !access.writes.empty();
      const ColumnSet set = here.columns | access.column_writes;
      const bool shares = node.element->copies() > 1 || (here.shared && !here.copy_first);
      for (int target : node.targets) {
        const auto t = static_cast<size_t>(target);
        NodePlan& there = plan.nodes[t];
        const int head = head_behind(node, here.head);
        if (reached[t] && there.head != head) there.head_varies = true;
        const NodePlan before = there;
        if (!reached[t]) there.head = head;
        there.columns &= set;
        there.shared = there.shared || shares;
        there.head_varies = there.head_varies || here.head_varies;
        reached[t] = true;
        changed = changed || (t <= i && (before.columns != there.columns || before.shared != there.shared ||
                                         before.head_varies != there.head_varies));
      }
    }
  }
  for (size_t i = 0; i < n; ++i) {
    const Node& node = router.nodes[i];
    const NodePlan& here = plan.nodes[i];
    const Element& element = *node.element;
    const ColumnSet missing = element.access(here.processor).column_reads & ~here.columns;
    each_column(missing, [&](Column which) {
      diagnostics.error(node.where,
                        format("%s '%s': reads the %s annotation, which nothing before it sets on every way here; put "
                               "CheckIPHeader(14)%s before it",
                               element.class_name.c_str(), element.name.c_str(), kColumnNames[static_cast<int>(which)],
                               which == Column::dst ? " or GetIPAddress" : ""));
    });
    // A GPU segment knows where fields lie by the bytes that have been stripped.
    if (here.head_varies && plan.uses_gpu())
      diagnostics.error(node.where,
                        format("'%s': packets arrive here with different starts; in a chain that uses a GPU "
                               "Strip and Unstrip must agree on every way to an element",
                               element.name.c_str()));
    if (node.pulled && here.processor == Processor::gpu)
      diagnostics.error(node.where,
                        format("%s '%s': packets are pulled through it, and a GPU only takes what is pushed; "
                               "put an Unqueue before it, or give it DEVICE cpu",
                               element.class_name.c_str(), element.name.c_str()));
  }
}

void find_live_columns(const Router& router, Plan& plan) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = router.nodes.size(); i-- > 0;) {
      const Access access = router.nodes[i].element->access(plan.nodes[i].processor);
      ColumnSet behind = 0;
      for (int target : router.nodes[i].targets) behind |= plan.nodes[static_cast<size_t>(target)].live;
      const ColumnSet live = access.column_reads | (behind & ~access.column_writes);
      changed = changed || (live != plan.nodes[i].live && router.nodes[i].is_buffer());
      plan.nodes[i].live_behind = behind;
      plan.nodes[i].live = live;
    }
  }
}

void count_bytes(const Router& router, Plan& plan) {
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    NodePlan& here = plan.nodes[i];
    const auto& back = router.nodes[i].predecessors;
    if (back.size() != 1 || here.copy_first || here.processor == Processor::gpu) continue;
    const Node& before = router.nodes[static_cast<size_t>(back[0])];
    here.counts_bytes = before.is_buffer() || before.targets.size() != 1 || before.element->changes_length() ||
                        plan.nodes[static_cast<size_t>(back[0])].processor == Processor::gpu;
  }
}

void find_prefetches(const Router& router, Plan& plan) {
  const auto on_cpu = [&](int node) { return plan.nodes[static_cast<size_t>(node)].processor == Processor::cpu; };
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    const ColumnSet wanted = router.nodes[i].element->looks_up();
    if (wanted == 0 || !on_cpu(static_cast<int>(i))) continue;
    // Back along the way that packets usually take: first outputs.
    int at = static_cast<int>(i);
    for (int between = 0;; ++between) {
      const auto& back = router.nodes[static_cast<size_t>(at)].predecessors;
      if (back.size() != 1 || !on_cpu(back[0])) break;
      const Node& before = router.nodes[static_cast<size_t>(back[0])];
      if (before.is_buffer() || before.targets[0] != at) break;
      at = back[0];
      if ((before.element->access(Processor::cpu).column_writes & wanted) == 0) continue;
      if (between > 0) plan.nodes[static_cast<size_t>(at)].prefetch_for = static_cast<int>(i);
      break;
    }
  }
}

void cut(const Router& router, Plan& plan) {
  plan.segments.clear();
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    NodePlan& here = plan.nodes[i];
    const auto& back = router.nodes[i].predecessors;
    // It joins its predecessors' segment if they are all in one, on its own processor. On the GPU this also keeps a
    // segment's only entrance at its first node.
    int joined = back.empty() ? -1 : plan.nodes[static_cast<size_t>(back[0])].segment;
    for (int p : back) {
      const NodePlan& there = plan.nodes[static_cast<size_t>(p)];
      if (there.segment != joined || there.processor != here.processor) joined = -1;
    }
    if (joined < 0) {
      joined = static_cast<int>(plan.segments.size());
      plan.segments.push_back({here.processor, {}, 0, 0});
    }
    here.segment = joined;
    plan.segments[static_cast<size_t>(joined)].nodes.push_back(static_cast<int>(i));
  }
  // Inside a GPU segment nobody can copy shared packets: that happens where they enter it.
  for (const Segment& segment : plan.segments) {
    if (segment.processor != Processor::gpu) continue;
    bool copies = false;
    for (int i : segment.nodes) copies = std::exchange(plan.nodes[static_cast<size_t>(i)].copy_first, false) || copies;
    plan.nodes[static_cast<size_t>(segment.nodes[0])].copy_first = copies;
  }
}

void synchronise(const Router& router, Plan& plan) {
  plan.atoms = Atoms();
  for (size_t i = 0; i < router.nodes.size(); ++i)
    plan.atoms.add(router.nodes[i].element->access(plan.nodes[i].processor), plan.nodes[i].head);
  plan.atoms.cut();
  std::vector<SyncStep> steps;
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    NodePlan& here = plan.nodes[i];
    here.access = plan.atoms.masks(router.nodes[i].element->access(here.processor), here.head);
    steps.push_back({here.processor, here.access.reads, here.access.writes, {}});
    // Buffers keep whole packets and all columns (their access says so), so an edge that goes back carries no news.
    for (int target : router.nodes[i].targets)
      if (target > static_cast<int>(i)) steps.back().next.push_back(target);
  }
  // Transport `direct` leaves the packet in host memory: nothing stays on the GPU between segments.
  const SyncPlan sync = heddle::synchronise(steps, /*resident=*/false);
  for (size_t i = 0; i < steps.size(); ++i) {
    Segment& segment = plan.segments[static_cast<size_t>(plan.nodes[i].segment)];
    segment.in |= sync.to_gpu[i];
    if (plan.nodes[i].processor == Processor::gpu)
      for (int target : steps[i].next) {
        const NodePlan& there = plan.nodes[static_cast<size_t>(target)];
        if (there.segment == plan.nodes[i].segment) continue;
        // Written anywhere in the segment, needed by whoever comes behind this exit.
        AtomSet written = 0;
        for (int node : segment.nodes) written |= steps[static_cast<size_t>(node)].writes;
        segment.out |=
            written & (there.processor == Processor::gpu ? ~AtomSet{0} : sync.to_cpu[static_cast<size_t>(target)]);
      }
  }
}

}  // namespace passes

Plan make_plan(const Router& router, const PlanOptions& options, click::Diagnostics& diagnostics) {
  Plan plan;
  plan.options = options;
  passes::place(router, plan);
  passes::follow(router, plan, diagnostics);
  if (!diagnostics.ok()) return plan;
  passes::find_live_columns(router, plan);
  passes::count_bytes(router, plan);
  passes::find_prefetches(router, plan);
  passes::cut(router, plan);
  try {
    passes::synchronise(router, plan);
  } catch (const Error& error) {
    if (plan.uses_gpu()) diagnostics.error(click::Location{}, error.what());  // else nothing moves
  }
  return plan;
}

bool Plan::uses_gpu() const {
  return std::any_of(nodes.begin(), nodes.end(), [](auto& node) { return node.processor == Processor::gpu; });
}

}  // namespace heddle
