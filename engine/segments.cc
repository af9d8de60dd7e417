// The passes that plan GPU segments: what slots carry, and what runs them.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/error.h"
#include "engine/gpu_ports.h"
#include "engine/plan.h"
#include "gpu/device.h"
#include "gpu/functions.h"
#include "gpu/program.h"
#include "gpu/slot_ring.h"
#include "io/dpdk/dpdk.h"

namespace heddle::passes {
namespace {

// Calls `visit(segment, index)` for all GPU segments.
template <class Visit>
void each_gpu_segment(Plan& plan, const Visit& visit) {
  for (size_t s = 0; s < plan.segments.size(); ++s)
    if (plan.segments[s].processor.is_gpu()) visit(plan.segments[s], static_cast<int>(s));
}

size_t position(const Segment& segment, int node) {
  return static_cast<size_t>(std::find(segment.nodes.begin(), segment.nodes.end(), node) - segment.nodes.begin());
}

uint32_t lines(int bytes) {
  constexpr uint32_t kLine = gpu::Copies::kLine;
  return bytes <= 0 ? 0 : (static_cast<uint32_t>(bytes) + kLine - 1) / kLine * kLine;
}

// Whole packets, with what has been stripped before, which somebody behind may take back, and with room for what the
// chain puts before and behind them.
gpu::Copies landing_copies(const Router& router, const Plan& plan, const Segment& segment) {
  gpu::Copies copies;
  const int stripped = plan.nodes[static_cast<size_t>(segment.nodes[0])].stripped,
            before = std::max({segment.prepends, segment.reach, stripped});
  copies.in = {0, gpu::Span::kToEnd}, copies.out = {-before, gpu::Span::kToEnd};
  copies.before = static_cast<uint32_t>(before), copies.behind = static_cast<uint32_t>(segment.appends);
  int front = plan.prepends;
  for (const Node& node : router.nodes) {
    const Element& element = *node.element;
    // Some take what happens to be free before a packet.
    front += std::max(0, -element.moves_head() - element.prepends());
  }
  copies.front = lines(front - before), copies.back = lines(plan.appends - segment.appends);
  return copies;
}

// Whether something behind the segment takes back what has been stripped from packets.
bool is_unstripped_behind(const Router& router, const Segment& segment) {
  std::vector<bool> seen(router.nodes.size(), false);
  std::vector<int> next;
  for (const LaneExit& exit : segment.exits)
    if (exit.target >= 0) next.push_back(exit.target);
  while (!next.empty()) {
    const auto at = static_cast<size_t>(next.back());
    next.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const Node& node = router.nodes[at];
    if (-node.element->moves_head() > node.element->prepends()) return true;
    next.insert(next.end(), node.targets.begin(), node.targets.end());
  }
  return false;
}

gpu::Copies copies_of(const Router& router, const Plan& plan, const Segment& segment) {
  if (segment.transport == Transport::landing) return landing_copies(router, plan, segment);
  gpu::Copies copies;
  copies.before = static_cast<uint32_t>(segment.prepends), copies.behind = static_cast<uint32_t>(segment.appends);
  copies.in = hull(plan, segment, segment.in | segment.out);
  copies.out = hull(plan, segment, segment.out);
  if (segment.writes_packets && segment.prepends + segment.appends > 0) {
    copies.in.to = gpu::Span::kToEnd;
    if (!copies.out.empty()) copies.out.to = gpu::Span::kToEnd;
  }
  // What is put before packets is where nothing of theirs was: that is `before`, beyond which an Unstrip may reach.
  const bool grows = segment.prepends > 0;
  const int stripped = std::max(segment.reach - segment.prepends, 0);
  if (copies.in.to == gpu::Span::kToEnd) copies.in.from = grows ? -stripped : std::min(copies.in.from, 0);
  if (copies.out.to == gpu::Span::kToEnd) {
    if (stripped == 0 && !is_unstripped_behind(router, segment))
      copies.out.from = gpu::Span::kFromStart;
    else if (grows)
      copies.out.from = -stripped - segment.prepends;
  }
  return copies;
}

// Why transport landing cannot be; null: it can.
const char* why_nothing_lands(const Plan& plan, const Segment& segment) {
  if ((segment.out & plan.atoms.packet_atoms()) == 0) return "nothing comes back that could land";
  if (plan.nodes[static_cast<size_t>(segment.nodes[0])].head_varies)
    return "how much has been stripped from packets differs, and that must land, too";
  return nullptr;
}

// The last node of the segment that has this keyword, which counts; null: none has. Reports those that contradict each
// other.
template <class Mode>
const Node* node_with(const char* keyword, std::optional<Mode> Node::*mode, const Router& router,
                      const Segment& segment, click::Diagnostics& diagnostics) {
  const Node* named = nullptr;
  for (int n : segment.nodes) {
    const Node& node = router.nodes[static_cast<size_t>(n)];
    if (!(node.*mode)) continue;
    if (named != nullptr && named->*mode != node.*mode)
      diagnostics.error(node.where, "'" + node.element->name + "': " + keyword + " " + name(*(node.*mode)) + ", but '" +
                                        named->element->name + "' on the same way through the GPU has " +
                                        name(*(named->*mode)) + "; give both the same");
    named = &node;
  }
  return named;
}

/** What a node says of how packets get to a GPU from packet threads, or null. */
const char* launch_keyword(const Node& node) {
  if (node.latency_us > 0) return "LATENCY";
  if (node.launch) return "LAUNCH or PERSISTENT";
  if (node.limits.batch > 0) return "MAX_BATCH";
  if (node.limits.capacity > 0) return "CAPACITY";
  if (node.limits.lists > 0) return "LISTS_PER_CORE or QUEUES_PER_CORE";
  if (!node.blocking) return "BLOCKING false";
  if (node.transport && *node.transport != Transport::direct && *node.transport != Transport::gather)
    return "TRANSPORT or ZEROCOPY";
  return nullptr;
}

}  // namespace

gpu::Span hull(const Plan& plan, const Segment& segment, AtomSet fields) {
  const NodePlan& first = plan.nodes[static_cast<size_t>(segment.nodes[0])];
  gpu::Span span;
  for (size_t a = 0; a < plan.atoms.all().size(); ++a) {
    const Atoms::Atom& atom = plan.atoms.all()[a];
    if ((fields >> a & 1) == 0 || atom.is_column) continue;
    // Where fields of other bases lie is not known: in the packet, or in what an Unstrip takes back.
    gpu::Span bytes{-segment.reach, gpu::Span::kToEnd};
    if (atom.interval.base == Base::head && !first.head_varies)
      bytes = {atom.interval.from - first.head,
               atom.interval.to == kToEnd ? gpu::Span::kToEnd : std::max(atom.interval.to - first.head, 0)};
    span = span.empty() ? bytes : gpu::Span{std::min(span.from, bytes.from), std::max(span.to, bytes.to)};
  }
  return span;
}

void find_exits(const Router& router, Plan& plan) {
  each_gpu_segment(plan, [&](Segment& segment, int index) {
    // Bytes by which the start has moved when packets get to a node, if that is the same for all of them; and how far
    // before where they entered it may be.
    std::vector<int> moved(segment.nodes.size(), 0), before(segment.nodes.size(), 0);
    std::vector<bool> reached(segment.nodes.size(), false);
    const auto add_exit = [&](int node, int target, int reason, int head) {
      segment.exits.push_back({node, target, reason, head});
      return static_cast<uint16_t>(gpu::kExit + segment.exits.size() - 1);
    };
    for (const int port : segment.to) segment.exits.push_back({segment.nodes[0], port, 0, 0});
    for (size_t k = 0; k < segment.nodes.size(); ++k) {
      const Node& node = router.nodes[static_cast<size_t>(segment.nodes[k])];
      const Element& element = *node.element;
      segment.wide_results = segment.wide_results || element.changes_length() || element.head_varies() ||
                             element.prepends() > 0 || element.appends() > 0;
      Segment::Targets to;
      const int behind = moved[k] + element.moves_head();
      const int before_behind = before[k] - element.moves_head() + (element.head_varies() ? element.prepends() : 0);
      segment.reach = std::max(segment.reach, before_behind);
      for (int target : node.targets) {
        if (const auto port = std::ranges::find(segment.to, target); port != segment.to.end()) {
          to.outputs.push_back(static_cast<uint16_t>(gpu::kExit + (port - segment.to.begin())));
          continue;
        }
        if (plan.nodes[static_cast<size_t>(target)].segment != index) {
          to.outputs.push_back(add_exit(segment.nodes[k], target, 0, behind));
          continue;
        }
        const size_t at = position(segment, target);
        to.outputs.push_back(static_cast<uint16_t>(at));
        segment.wide_results = segment.wide_results || (reached[at] && moved[at] != behind);
        before[at] = reached[at] ? std::max(before[at], before_behind) : before_behind;
        moved[at] = behind, reached[at] = true;
      }
      segment.targets.push_back(std::move(to));
    }
    segment.drop_exits_from = static_cast<int>(segment.exits.size());
    for (size_t k = 0; k < segment.nodes.size(); ++k) {
      const auto reasons = router.nodes[static_cast<size_t>(segment.nodes[k])].element->drop_reasons().size();
      for (size_t reason = 0; reason < reasons; ++reason)
        segment.targets[k].drops.push_back(add_exit(segment.nodes[k], -1, static_cast<int>(reason), moved[k]));
    }
  });
}

void find_slot_columns(const Router& router, Plan& plan) {
  each_gpu_segment(plan, [&](Segment& segment, int index) {
    ColumnSet live_behind = 0, set_and_live = 0, unset_and_live = 0;  // the latter two: by an exit, there
    const std::vector<ColumnSet> none(segment.nodes.size(), 0);
    std::vector<ColumnSet> set_behind = none,
                           maybe_set_behind = none;  // by the segment, on every way, or on one, to node k
    bool reads_bytes = false;
    for (size_t k = 0; k < segment.nodes.size(); ++k) {
      const Node& node = router.nodes[static_cast<size_t>(segment.nodes[k])];
      const Access access = node.element->access(segment.processor);
      // A column that the segment has not set on every way here must come from the host.
      const bool is_entrance = k < segment.entrances();
      ColumnSet set_before = is_entrance ? 0 : kAllColumns, maybe_set = access.column_writes;
      for (int p : node.predecessors)
        if (!is_entrance)
          set_before &= set_behind[position(segment, p)], maybe_set |= maybe_set_behind[position(segment, p)];
      segment.columns_in |= access.column_reads & ~set_before;
      set_behind[k] = set_before | access.column_writes, maybe_set_behind[k] = maybe_set;
      for (int target : node.targets) {
        if (plan.nodes[static_cast<size_t>(target)].segment == index) continue;
        const ColumnSet live = plan.nodes[static_cast<size_t>(target)].live;
        live_behind |= live;
        set_and_live |= live & maybe_set_behind[k], unset_and_live |= live & ~set_behind[k];
      }
      segment.columns |= access.column_reads | access.column_writes;
      segment.writes_packets = segment.writes_packets || !access.writes.empty();
      reads_bytes = reads_bytes || !access.reads.empty() || !access.writes.empty();
    }
    // Only columns that somebody behind reads come back, for all packets: where one is read that has not been set on
    // the way, it must have gone there before.
    segment.columns_out = set_and_live;
    const ColumnSet arrived = plan.nodes[static_cast<size_t>(segment.nodes[0])].columns;
    segment.columns_in |= segment.columns_out & arrived & unset_and_live;
    segment.columns_kept = live_behind & ~segment.columns_out;
    segment.columns |= segment.columns_in;
    if (segment.has_rings()) segment.columns_in = 0;  // the GPU makes them: zero
    const bool one_narrow = std::popcount(segment.columns_in) == 1 && (segment.columns_in & kWideColumns) == 0;
    if (!reads_bytes && one_narrow && !segment.wide_results) {
      segment.word_column = static_cast<Column>(std::countr_zero(segment.columns_in));
      segment.columns_in = 0;
    }
  });
}

void choose_transports(const Router& router, Plan& plan, click::Diagnostics& diagnostics) {
  each_gpu_segment(plan, [&](Segment& segment, int) {
    const Node* named = node_with("LAUNCH", &Node::launch, router, segment, diagnostics);
    segment.launch = named != nullptr ? *named->launch : plan.options.launch;
    named = node_with("TRANSPORT", &Node::transport, router, segment, diagnostics);
    int passes = 0;
    for (int n : segment.nodes) {
      const Node& node = router.nodes[static_cast<size_t>(n)];
      const AtomAccess& access = plan.nodes[static_cast<size_t>(n)].access;
      const int function = gpu::function_id(node.element->class_name);
      if (function >= 0 && plan.atoms.size((access.reads | access.writes) & plan.atoms.packet_atoms()).open)
        passes += gpu::functions()[static_cast<size_t>(function)].passes;
    }
    segment.transport = passes >= 2 ? Transport::gather : Transport::direct;
    segment.why_transport = passes >= 2   ? format("functions go over the whole packet %d times", passes)
                            : passes == 1 ? "one function goes over the whole packet, once"
                                          : "functions want a few bytes of each packet";
    if (plan.options.transport) segment.transport = *plan.options.transport, segment.why_transport = "--transport";
    if (named != nullptr) {
      segment.transport = *named->transport;
      segment.why_transport = "TRANSPORT of '" + named->element->name + "'";
      if (named->gets_lists && dpdk::settings().lists_on_gpu) segment.why_transport += ", and DPDKInfo's POOL";
    }
    if (segment.word_column || ((segment.in | segment.out) & plan.atoms.packet_atoms()) == 0) {
      segment.transport = Transport::direct;
      segment.why_transport = "no function wants bytes of packets";
    }
    if (const char* why = why_nothing_lands(plan, segment); segment.transport == Transport::landing && why != nullptr)
      segment.transport = Transport::gather, segment.why_transport += format(", but %s", why);
    if (segment.has_rings()) {
      const auto ports = receiving_ports(router, segment);
      segment.split = !ports.empty() && ports[0].split;
      segment.spread = passes > 0 && !segment.split && !segment.routed;
      segment.in_order = !segment.split && std::ranges::any_of(segment.nodes, [&](int node) {
        return router.nodes[static_cast<size_t>(node)].element->prefers_order();
      });
      if (segment.transport != Transport::gather || segment.routed || ports.empty() ||
          !std::ranges::all_of(ports, may_gather)) {
        segment.transport = Transport::direct;
        segment.why_transport = "packets lie in the ports' memory";
      }
    }
    if (segment.transport != Transport::direct) segment.copies = copies_of(router, plan, segment);
  });
}

void choose_kernels(const Router& router, Plan& plan, click::Diagnostics& diagnostics) {
  each_gpu_segment(plan, [&](Segment& segment, int) {
    uint64_t named_latency = 0;  // the shortest LATENCY
    segment.warps = segment.copies.warps();
    for (int n : segment.nodes) {
      const Node& node = router.nodes[static_cast<size_t>(n)];
      const int function = gpu::function_id(node.element->class_name);
      if (function >= 0) segment.warps = std::max(segment.warps, gpu::functions()[static_cast<size_t>(function)].warps);
      const auto tighten = [](int& limit, int other) {
        limit = limit == 0 || (0 < other && other < limit) ? other : limit;
      };
      if (const char* keyword = segment.has_rings() ? launch_keyword(node) : nullptr; keyword != nullptr)
        diagnostics.error(node.where,
                          format("'%s': %s: between GPU ports the GPU takes packets as they come, from where they lie, "
                                 "and none waits for others; leave it out, or take an element that does not have it",
                                 node.element->name.c_str(), keyword));
      if (node.latency_us > 0)
        named_latency = named_latency == 0 ? node.latency_us : std::min(named_latency, node.latency_us);
      tighten(segment.limits.batch, node.limits.batch);
      tighten(segment.limits.capacity, node.limits.capacity);
      tighten(segment.limits.lists, node.limits.lists);
    }
    segment.latency_us = named_latency > 0 ? named_latency : plan.options.latency_us;
    if (segment.has_rings()) segment.latency_us = 0;  // --latency is for the others
    if (segment.transport == Transport::landing)
      segment.copies.landing = segment.launch == LaunchMode::persistent ? gpu::Landing::stores : gpu::Landing::engine;
    if (copies_by_engine(segment.transport) && segment.launch == LaunchMode::persistent) {
      const Node& first = router.nodes[static_cast<size_t>(segment.nodes[0])];
      diagnostics.error(first.where, "'" + first.element->name + "': transport " + name(segment.transport) +
                                         " copies when kernels are launched; run with --launch async or sync, or take "
                                         "transport zerocopy or gather");
    }
    // Batches of MAX_BATCH or, as --batch may say, of one packet.
    if (const std::string problem = capacity_problem(router, segment, 1); !problem.empty())
      diagnostics.error(router.nodes[static_cast<size_t>(segment.nodes[0])].where, problem);
  });
}

}  // namespace heddle::passes

namespace heddle {

const Node* capacity_of(const Router& router, const Segment& segment) {
  if (segment.limits.capacity == 0) return nullptr;
  const auto it = std::ranges::find_if(segment.nodes, [&](int node) {
    return router.nodes[static_cast<size_t>(node)].limits.capacity == segment.limits.capacity;
  });
  return &router.nodes[static_cast<size_t>(*it)];
}

std::string capacity_problem(const Router& router, const Segment& segment, int batch) {
  const Node* node = capacity_of(router, segment);
  if (node == nullptr || segment.has_rings() || segment.launch == LaunchMode::sync) return {};
  constexpr int kMost = gpu::SlotRing::kMaxSlots;
  const int a_batch = segment.slots_of_batch(batch), lists = segment.lists();
  const int64_t wanted = int64_t{segment.limits.capacity} * lists * a_batch;
  if (wanted <= kMost) return {};
  return format(
      "'%s': CAPACITY %d: a thread has at most %d slots of %d packets, and %d batches of %d slots (MAX_BATCH) "
      "in each of %d lists (LISTS_PER_CORE) want %lld; the largest CAPACITY is %d here",
      node->element->name.c_str(), segment.limits.capacity, kMost, gpu::kSlotPackets, segment.limits.capacity, a_batch,
      lists, static_cast<long long>(wanted), kMost / (lists * a_batch));
}

}  // namespace heddle
