#include "engine/plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/asked_early.h"
#include "core/chooses.h"
#include "core/error.h"
#include "core/gpu_state.h"
#include "core/sets_first.h"
#include "engine/one_packet.h"
#include "engine/setters.h"
#include "gpu/device.h"
#include "gpu/functions.h"

namespace heddle {
namespace passes {
namespace {

bool is_neutral(const Router& router, int i) {
  return router.nodes[static_cast<size_t>(i)].element->neutral().has_value();
}

bool is_function(const Router& router, int i) {
  return gpu::function_id(router.nodes[static_cast<size_t>(i)].element->class_name) >= 0;
}

int head_behind(const Node& node, int head) { return head + node.element->moves_head(); }

// What an element reads and writes where it is; on both processors if it may be on either.
Access access_of(const Node& node, const Placement& place) {
  Access access = node.element->access(place.processor);
  if (!place.has_both()) return access;
  const Access on_cpu = node.element->access(Processor::cpu);
  access.reads.insert(access.reads.end(), on_cpu.reads.begin(), on_cpu.reads.end());
  access.writes.insert(access.writes.end(), on_cpu.writes.begin(), on_cpu.writes.end());
  access.column_reads |= on_cpu.column_reads;
  access.column_writes &= on_cpu.column_writes;
  return access;
}

/** Columns of packets that leave node `i` for the `port`-th of its targets that the element has set. */
ColumnSet set_for(const Node& node, const Access& access, size_t port) {
  const size_t ports = node.targets.size() - node.more_pull.size();
  const int output = port < ports ? static_cast<int>(port) : node.more_pull[port - ports];
  return access.column_writes | sets_at(*node.element, output);
}

/** Annotations that are set on packets which leave node `i` for the `port`-th of its targets. */
ColumnSet columns_behind(const Router& router, const Plan& plan, size_t i, size_t port) {
  const Node& node = router.nodes[i];
  const auto behind = [&](size_t at, size_t target) {
    const Access access = access_of(router.nodes[at], plan.nodes[at]);
    return (plan.nodes[at].columns & ~taken_by(router.nodes[at], access)) | set_for(router.nodes[at], access, target);
  };
  const auto leads = [&](int before) { return node.leads_from(before, port); };
  const bool all = std::ranges::all_of(node.predecessors, leads);
  if (all) return behind(i, port);
  const Access access = access_of(node, plan.nodes[i]);
  const ColumnSet sets = set_for(node, access, port);
  if (std::ranges::none_of(node.predecessors, leads)) return kClearedColumns | sets;  // its own packets
  ColumnSet set = kAllColumns;
  for (const int before : node.predecessors) {
    const auto& targets = router.nodes[static_cast<size_t>(before)].targets;
    for (size_t target = 0; leads(before) && target < targets.size(); ++target)
      if (targets[target] == static_cast<int>(i)) set &= behind(static_cast<size_t>(before), target);
  }
  return (set & ~taken_by(node, access)) | sets;
}

// A GPU cannot tell how much room lies before a packet, so a neutral element on it never moves the start before where
// the frame began: bytes between that and the start, at least.
std::vector<int> heads(const Router& router) {
  std::vector<int> head(router.nodes.size(), std::numeric_limits<int>::max());
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    const Node& node = router.nodes[i];
    if (node.predecessors.empty()) head[i] = 0;
    for (int target : node.targets) {
      int& there = head[static_cast<size_t>(target)];
      there = std::min(there, node.element->head_varies() ? 0 : head_behind(node, head[i]));
    }
  }
  return head;
}

}  // namespace

void place(const Router& router, Plan& plan) {
  const size_t n = router.nodes.size();
  plan.nodes.assign(n, {});
  const PlanOptions& options = plan.options;
  const bool use_gpu = options.device != "cpu";
  const int number = use_gpu ? gpu::parse_device_name(options.device).index : 0;  // of plain `gpu`
  for (size_t i = 0; i < n; ++i) {
    const Node& node = router.nodes[i];
    if (!is_function(router, static_cast<int>(i))) continue;
    const bool follows = !node.device && use_gpu && node.element->follows_device();
    const int device = node.device.value_or(follows ? kDefaultGpu : kOnCpu);
    if (device == kOnCpu) continue;
    const Processor processor{Processor::kGpu, static_cast<uint8_t>(device == kDefaultGpu ? number : device)};
    static_cast<Placement&>(plan.nodes[i]) = {processor, node.device ? node.by_load : options.by_load,
                                              node.cpu_after_failure.value_or(options.cpu_after_failure)};
  }
  place_ports(router, plan);
  const std::vector<int> head = heads(router);
  auto on_gpu = [&](int i) { return plan.nodes[static_cast<size_t>(i)].processor.is_gpu(); };
  auto may_follow = [&](size_t i) {
    return is_neutral(router, static_cast<int>(i)) && head_behind(router.nodes[i], head[i]) >= 0;
  };
  // Neutral elements between GPU functions stay there: everything behind them is on the GPU, and something before is.
  // Behind an isolated function the CPU has the packet.
  auto keeps = [&](int i) { return on_gpu(i) && !(options.isolate && is_function(router, i)); };
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
    const auto& back = router.nodes[i].predecessors;
    const bool after_one = std::any_of(back.begin(), back.end(), keeps);
    const int neighbour = after_one ? *std::find_if(back.begin(), back.end(), keeps) : router.nodes[i].targets[0];
    if (loads || after_one) static_cast<Placement&>(plan.nodes[i]) = plan.nodes[static_cast<size_t>(neighbour)];
  }
}

namespace {

/** An element that sets the column, for people. `stripped`: the link's header is gone. */
std::string setter_of(Column which, bool stripped, const Element& reader) {
  const std::string offset = stripped ? "" : "(14)";
  switch (which) {
    case Column::dst:
    case Column::l3:
    case Column::l4:
      if (reader.class_name.find("IP6") != std::string::npos || reader.class_name.find("ICMP6") != std::string::npos)
        return "CheckIP6Header" + offset;
      return "CheckIPHeader" + offset + (which == Column::dst ? " or GetIPAddress" : "");
    case Column::cycles:
      return "SetCycleCount";
    case Column::flow:
      return "FlowTable";
    case Column::rule:
      return "BitVectorClassifier or Firewall";
    case Column::sa:
    case Column::esp_sequence:
    case Column::esp_iv:
      return reader.class_name == "IPsecReplay" ? "IPsecDecap" : "IPsecSequence";
    default:
      return "an element that sets it";
  }
}

}  // namespace

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
      if (node.predecessors.empty()) here.columns = kClearedColumns;
      const Access access = access_of(node, here);
      here.copy_first = here.shared && !access.writes.empty();
      const bool shares = node.element->copies() > 1 || (here.shared && !here.copy_first);
      for (size_t port = 0; port < node.targets.size(); ++port) {
        const auto t = static_cast<size_t>(node.targets[port]);
        NodePlan& there = plan.nodes[t];
        const int head = head_behind(node, here.head);
        if (reached[t] && there.head != head) there.head_varies = true;
        const NodePlan before = there;
        if (!reached[t]) there.head = head;
        there.stripped = std::max(there.stripped, here.stripped + node.element->moves_head());
        there.columns &= columns_behind(router, plan, i, port);
        there.shared = there.shared || shares;
        there.head_varies = there.head_varies || here.head_varies || node.element->head_varies();
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
    const ColumnSet missing = access_of(node, here).column_reads & ~here.columns;
    each_column(missing, [&](Column which) {
      if (const std::string why = why_taken(router, plan, static_cast<int>(i), which); !why.empty())
        return diagnostics.error(node.where,
                                 format("%s '%s': %s", element.class_name.c_str(), element.name.c_str(), why.c_str()));
      diagnostics.error(
          node.where, format("%s '%s': reads the %s annotation, which nothing before it sets on every way here; put %s "
                             "before it",
                             element.class_name.c_str(), element.name.c_str(), kColumnNames[static_cast<int>(which)],
                             setter_of(which, here.stripped > 0, element).c_str()));
    });
    if (node.pulled && here.processor.is_gpu())
      diagnostics.error(node.where,
                        format("%s '%s': packets are pulled through it, and a GPU only takes what is pushed; "
                               "put an Unqueue before it, or give it DEVICE cpu",
                               element.class_name.c_str(), element.name.c_str()));
  }
}

void find_live_columns(const Router& router, Plan& plan) {
  // Of packets that come to node `i` from those of `sources`; it may be the source itself.
  const auto live_from = [&](std::span<const int> sources, size_t i) {
    const Node& node = router.nodes[i];
    const Access access = access_of(node, plan.nodes[i]);
    ColumnSet behind = 0;
    for (size_t port = 0; port < node.targets.size(); ++port) {
      const auto leads = [&](int before) { return node.leads_from(before, port); };
      if (node.predecessors.empty() || std::ranges::any_of(sources, leads))
        behind |= plan.nodes[static_cast<size_t>(node.targets[port])].live & ~set_for(node, access, port);
    }
    return access.column_reads | (plan.nodes[i].parser >= 0 ? columns(Column::l3) : 0) | behind;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = router.nodes.size(); i-- > 0;) {
      ColumnSet behind = 0;
      const int self = static_cast<int>(i);
      for (int target : router.nodes[i].targets) behind |= live_from({&self, 1}, static_cast<size_t>(target));
      const ColumnSet live = live_from(router.nodes[i].predecessors, i);
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
    const Element& element = *router.nodes[i].element;
    if (back.size() != 1 || here.copy_first || element.prepends() + element.appends() > 0 || here.processor.is_gpu())
      continue;
    const Node& before = router.nodes[static_cast<size_t>(back[0])];
    here.counts_bytes = before.is_buffer() || before.targets.size() != 1 || before.element->changes_length() ||
                        plan.nodes[static_cast<size_t>(back[0])].processor.is_gpu();
  }
}

void find_prefetches(const Router& router, Plan& plan) {
  const auto on_cpu = [&](int node) {
    const NodePlan& here = plan.nodes[static_cast<size_t>(node)];
    return !here.processor.is_gpu() || here.by_load;
  };
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
      if (((before.element->access(Processor::cpu).column_writes | sets_at(*before.element, 0)) & wanted) == 0)
        continue;
      if (between > 0) plan.nodes[static_cast<size_t>(at)].prefetch_for = static_cast<int>(i);
      break;
    }
  }
}

void cut(const Router& router, Plan& plan) {
  plan.segments.clear();
  std::vector<bool> has_function;  // by segment
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    NodePlan& here = plan.nodes[i];
    const auto& back = router.nodes[i].predecessors;
    // It joins its predecessors' segment if they are all in one, on its own processor. On the GPU this also keeps a
    // segment's only entrance at its first node.
    int joined = back.empty() ? -1 : plan.nodes[static_cast<size_t>(back[0])].segment;
    for (int p : back) {
      const NodePlan& there = plan.nodes[static_cast<size_t>(p)];
      if (there.segment != joined || static_cast<const Placement&>(there) != here) joined = -1;
    }
    // A GPU segment of an isolated function ends behind it.
    const bool isolated = plan.options.isolate && here.processor.is_gpu();
    if (joined >= 0 && isolated && has_function[static_cast<size_t>(joined)]) joined = -1;
    if (joined < 0) {
      joined = static_cast<int>(plan.segments.size());
      has_function.push_back(false);
      static_cast<Placement&>(plan.segments.emplace_back()) = here;
    }
    here.segment = joined;
    if (is_function(router, static_cast<int>(i))) has_function[static_cast<size_t>(joined)] = true;
    plan.segments[static_cast<size_t>(joined)].nodes.push_back(static_cast<int>(i));
  }
  // Inside a GPU segment nobody can copy shared packets: that happens where they enter it.
  for (const Segment& segment : plan.segments) {
    if (!segment.processor.is_gpu()) continue;
    bool copies = false;
    for (int i : segment.nodes) copies = std::exchange(plan.nodes[static_cast<size_t>(i)].copy_first, false) || copies;
    plan.nodes[static_cast<size_t>(segment.nodes[0])].copy_first = copies;
    // And headers are parsed there.
    for (int i : segment.nodes)
      if (NodePlan& here = plan.nodes[static_cast<size_t>(i)],
          &entry = plan.nodes[static_cast<size_t>(segment.nodes[0])];
          here.parser >= 0)
        entry.parser = std::exchange(here.parser, -1), entry.parsed = here.parsed;
  }
}

void find_room(const Router& router, Plan& plan) {
  std::vector<int> front(router.nodes.size(), 0), back(router.nodes.size(), 0);  // growth on the way to a node
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    const Element& element = *router.nodes[i].element;
    const int prepends = element.prepends(), appends = element.appends();
    if (plan.nodes[i].processor.is_gpu()) {  // all at once, where packets enter the segment
      Segment& segment = plan.segments[static_cast<size_t>(plan.nodes[i].segment)];
      segment.prepends += prepends, segment.appends += appends;
    } else {
      plan.nodes[i].prepends = prepends, plan.nodes[i].appends = appends;
    }
    const int front_behind = front[i] + prepends, back_behind = back[i] + appends;
    plan.prepends = std::max(plan.prepends, front_behind), plan.appends = std::max(plan.appends, back_behind);
    for (int target : router.nodes[i].targets) {
      const auto t = static_cast<size_t>(target);
      if (t <= i) continue;  // round a loop they grow again: room is then made by copying
      front[t] = std::max(front[t], front_behind), back[t] = std::max(back[t], back_behind);
    }
  }
  for (const Segment& segment : plan.segments) {
    NodePlan& entry = plan.nodes[static_cast<size_t>(segment.nodes[0])];
    if (segment.processor.is_gpu()) entry.prepends = segment.prepends, entry.appends = segment.appends;
  }
}

void synchronise(const Router& router, Plan& plan) {
  plan.atoms = Atoms();
  const auto head_of = [&](size_t i) { return Head{plan.nodes[i].head, plan.nodes[i].head_varies}; };
  const auto whole_access_of = [&](size_t i) {
    Access access = access_of(router.nodes[i], plan.nodes[i]);
    const ColumnSet of_some = sets_at(*router.nodes[i].element, 0);
    access.column_reads |= of_some, access.column_writes |= of_some;
    return access;
  };
  for (size_t i = 0; i < router.nodes.size(); ++i) plan.atoms.add(whole_access_of(i), head_of(i));
  plan.atoms.cut();
  std::vector<SyncStep> steps;
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    NodePlan& here = plan.nodes[i];
    here.access = plan.atoms.masks(whole_access_of(i), head_of(i));
    steps.push_back({here.processor, here.access.reads, here.access.writes, router.nodes[i].targets, here.segment});
  }
  // Transport `direct` leaves the packet in host memory: nothing stays on the GPU between segments.
  const SyncPlan sync = heddle::synchronise(steps, /*resident=*/false);
  for (size_t i = 0; i < steps.size(); ++i) {
    Segment& segment = plan.segments[static_cast<size_t>(plan.nodes[i].segment)];
    segment.in |= sync.to_gpu[i];
    if (!plan.nodes[i].processor.is_gpu()) continue;
    AtomSet written = 0;  // anywhere in the segment
    for (int node : segment.nodes) written |= steps[static_cast<size_t>(node)].writes;
    for (int target : steps[i].next)
      if (plan.nodes[static_cast<size_t>(target)].segment != plan.nodes[i].segment)
        segment.out |= written & sync.to_cpu[static_cast<size_t>(target)];
    if (std::ranges::find(segment.to, static_cast<int>(i)) != segment.to.end())
      segment.out |= written & steps[i].reads;  // a GPU port transmits it
  }
}

}  // namespace passes

namespace {

/** Tells elements that choose by where they are; refuses those that the load must not move. */
void tell_places(const Router& router, const Plan& plan, click::Diagnostics& diagnostics) {
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    const Node& node = router.nodes[i];
    const auto error = [&](const std::string& what) {
      diagnostics.error(node.where, format("%s '%s': %s", node.element->class_name.c_str(), node.element->name.c_str(),
                                           what.c_str()));
    };
    auto* chooses = dynamic_cast<Chooses*>(node.element.get());
    if (chooses != nullptr) try {
        chooses->placed(plan.nodes[i].processor.is_gpu());
      } catch (const Error& why) {
        error(why.what());
      }
    const auto* keeps = dynamic_cast<const KeepsGpuState*>(node.element.get());
    if (keeps == nullptr || !plan.nodes[i].by_load) continue;
    if (const std::string hidden = keeps->hidden_from_cpu(); !hidden.empty())
      error("where the load decides (auto), CPU and GPU would have it in turn, and neither knows " + hidden +
            " that the other has; give it DEVICE cpu or DEVICE gpu");
  }
}

/** Tells elements whether they are asked to prefetch. */
void tell_prefetches(const Router& router, const Plan& plan) {
  std::vector<bool> early(router.nodes.size());
  for (const NodePlan& here : plan.nodes)
    if (here.prefetch_for >= 0) early[static_cast<size_t>(here.prefetch_for)] = true;
  for (size_t i = 0; i < router.nodes.size(); ++i)
    if (auto* asked = dynamic_cast<AskedEarly*>(router.nodes[i].element.get())) asked->asked_early(early[i]);
}

}  // namespace

void PlanOptions::set_device(const std::string& text) {
  const bool automatic = text == "auto" || text.starts_with("auto:");
  const std::string name = !automatic ? text : text == "auto" ? "gpu" : text.substr(5);
  const bool gpu = name.starts_with("gpu") && name.find_first_not_of("0123456789", 3) == std::string::npos;
  if (!gpu && name != "simt" && (automatic || name != "cpu"))
    throw Error("'" + text + "' is not cpu, gpu, gpu0, gpu1, ..., auto, auto:gpu1, ... or simt");
  device = name;
  by_load = automatic;
}

Plan make_plan(const Router& router, const PlanOptions& options, click::Diagnostics& diagnostics) {
  Plan plan;
  plan.options = options;
  passes::place(router, plan);
  tell_places(router, plan, diagnostics);
  passes::follow(router, plan, diagnostics);
  check_setters(router, plan, diagnostics);
  if (!diagnostics.ok()) return plan;
  passes::find_parsers(router, plan);
  passes::find_live_columns(router, plan);
  passes::count_bytes(router, plan);
  passes::find_prefetches(router, plan);
  tell_prefetches(router, plan);
  passes::cut(router, plan);
  passes::find_rings(router, plan, diagnostics);
  if (!diagnostics.ok()) return plan;
  passes::find_room(router, plan);
  passes::find_joins(router, plan);
  try {
    passes::synchronise(router, plan);
  } catch (const Error& error) {
    if (plan.uses_gpu()) diagnostics.error(router.graph.where, error.what());  // else nothing moves
  }
  passes::find_exits(router, plan);
  passes::find_slot_columns(router, plan);
  passes::choose_transports(router, plan, diagnostics);
  passes::find_shared_packets(router, plan);
  passes::choose_kernels(router, plan, diagnostics);
  return plan;
}

std::string Plan::name_of(Processor processor) const {
  if (!processor.is_gpu()) return "cpu";
  const bool simt = options.device.starts_with("simt");
  return simt && processor.number == 0 ? "simt" : format("%s%d", simt ? "simt" : "gpu", processor.number);
}

int Plan::default_slots() const {
  const auto segments_on_gpus = static_cast<int>(
      std::count_if(segments.begin(), segments.end(), [](auto& segment) { return segment.processor.is_gpu(); }));
  const bool simt = uses_simt();
  const int enough = simt ? 16 : 256, resident = simt ? 48 : 2048;  // simt: an OS thread each
  return std::clamp(resident / std::max(segments_on_gpus, 1), 1, enough);
}

bool Plan::uses_gpu() const {
  return std::any_of(nodes.begin(), nodes.end(), [](auto& node) { return node.processor.is_gpu(); });
}

bool Plan::uses_simt() const { return uses_gpu() && options.device.starts_with("simt"); }

bool Plan::has_lanes() const {
  return std::any_of(segments.begin(), segments.end(),
                     [](auto& segment) { return segment.processor.is_gpu() && !segment.has_rings(); });
}

}  // namespace heddle
