// What an engine says of itself while and after it runs.
#include <algorithm>

#include "elements/endpoints/from_gpu_port.h"
#include "engine/engine.h"

namespace heddle {
namespace {

bool is_ring_origin(const Node& node) { return dynamic_cast<const FromGPUPort*>(node.element.get()) != nullptr; }

// Packets enter the chain here, other than at a buffer.
bool is_origin(const Node& node) {
  return (dynamic_cast<const Source*>(node.element.get()) != nullptr && !node.is_buffer()) || is_ring_origin(node);
}

}  // namespace

double Engine::progress() const {
  double least = 2;
  for (auto& node : router_.nodes)
    if (is_ring_origin(node)) {
      return -1;
    } else if (is_origin(node)) {
      const auto share = dynamic_cast<const Source&>(*node.element).progress();
      if (!share) return -1;
      least = std::min(least, *share);
    }
  return least;
}

uint64_t Engine::received() const {
  uint64_t total = 0;
  for (size_t i = 0; i < router_.nodes.size(); ++i)
    if (is_origin(router_.nodes[i])) total += packets(static_cast<int>(i));
  return total;
}

uint64_t Engine::packets(int node) const {
  uint64_t total = gpus() ? gpus()->counts(node).first : 0;
  for (auto& worker : workers()) total += worker->counts(node).packets.load(std::memory_order_relaxed);
  return total;
}

std::pair<uint64_t, uint64_t> Engine::node_counts(int node) const { return {packets(node), bytes(node)}; }

uint64_t Engine::bytes(int node) const {
  const auto sum = [&](int of, std::atomic<uint64_t> NodeCounts::*which) {
    uint64_t total = 0;
    for (auto& worker : workers()) total += (worker->counts(of).*which).load(std::memory_order_relaxed);
    return total;
  };
  if (plan_.nodes[static_cast<size_t>(node)].counts_bytes)
    return sum(node, &NodeCounts::bytes) + (gpus() ? gpus()->counts(node).second : 0);
  // What came to the node before it, less what that has dropped and stripped.
  const int before = router_.nodes[static_cast<size_t>(node)].predecessors[0];
  const auto moved = static_cast<int64_t>(sum(node, &NodeCounts::packets)) *
                     router_.nodes[static_cast<size_t>(before)].element->moves_head();
  const int64_t left = static_cast<int64_t>(bytes(before) - sum(before, &NodeCounts::dropped_bytes)) - moved;
  return left > 0 ? static_cast<uint64_t>(left) : 0;  // counters of packets on their way may disagree
}

std::vector<double> Engine::load() const {
  std::vector<double> list;
  for (const auto& [all, busy] : cycles())
    list.push_back(all == 0 ? 0 : static_cast<double>(busy) / static_cast<double>(all));
  return list;
}

Report::Element Engine::element_report(int node) const {
  const auto i = static_cast<size_t>(node);
  const Element& element = *router_.nodes[i].element;
  Report::Element entry{element.name, element.class_name, "cpu", 0, 0, {}, element.statistics()};
  entry.processor = plan_.name_of(plan_.nodes[i].processor);
  entry.packets = packets(node);
  entry.bytes = bytes(node);
  const auto reasons = element.drop_reasons();
  std::vector<uint64_t> drops(reasons.size());
  uint64_t no_buffer = 0, no_room = 0, moved = 0, no_slot = 0, max_batch = 0, gpu_failed = 0, waited = 0;
  for (auto& worker : workers()) {
    const NodeCounts& counts = worker->counts(node);
    for (size_t r = 0; r < reasons.size(); ++r) drops[r] += counts.drops[r];
    no_room += counts.no_room, moved += counts.moved_for_room;
    no_buffer += counts.no_buffer, no_slot += counts.no_slot, max_batch += counts.max_batch,
        gpu_failed += counts.gpu_failed;
    waited += counts.waited;
  }
  if (gpus()) {
    const std::vector<uint64_t> on_rings = gpus()->ring_drops(node);
    for (size_t r = 0; r < on_rings.size(); ++r) drops[r] += on_rings[r];
  }
  for (size_t r = 0; r < reasons.size(); ++r)
    if (drops[r] != 0) entry.drops.emplace_back(reasons[r], drops[r]);
  if (no_buffer != 0) entry.drops.emplace_back("no_buffer", no_buffer);
  if (no_room != 0) entry.drops.emplace_back("no_room", no_room);
  if (moved != 0) entry.statistics.emplace_back("moved_for_room", moved);
  if (no_slot != 0) entry.drops.emplace_back("no_slot", no_slot);
  if (max_batch != 0) entry.drops.emplace_back("max_batch", max_batch);
  if (gpu_failed != 0) entry.drops.emplace_back("gpu_failed", gpu_failed);
  if (waited != 0) entry.statistics.emplace_back("waited_for_order", waited);
  return entry;
}

Report Engine::report() const {
  Report report;
  report.problems = problems_;
  report.wall_s = wall_s_;
  report.cpu_s = cpu_s_;
  if (gpus()) report.device = gpus()->text();
  for (size_t s = 0; s < plan_.segments.size(); ++s) {
    const Segment& segment = plan_.segments[s];
    if (!segment.processor.is_gpu()) continue;
    LaneBytes sum;
    Worker::Sides sides;
    for (auto& worker : workers()) {
      const LaneBytes bytes = worker->lane_bytes(static_cast<int>(s));
      sum.to_gpu += bytes.to_gpu, sum.from_gpu += bytes.from_gpu;
      const Worker::Sides here = worker->sides(static_cast<int>(s));
      sides.on_cpu += here.on_cpu, sides.switches += here.switches;
    }
    const uint64_t entered = packets(segment.nodes[0]) - std::min(packets(segment.nodes[0]), sides.on_cpu);
    const auto declared = [&](AtomSet fields) -> uint64_t {
      if (segment.transport == Transport::gather || copies_by_engine(segment.transport)) return 0;
      const Atoms::Size size = plan_.atoms.size(fields & plan_.atoms.packet_atoms());
      return size.open ? bytes(segment.nodes[0]) : entered * static_cast<uint64_t>(size.bytes);
    };
    report.traffic.push_back({static_cast<int>(s), plan_.name_of(segment.processor), sum.to_gpu, sum.from_gpu,
                              declared(segment.in), declared(segment.out)});
    if (segment.has_both())
      report.traffic.back().on_cpu = sides.on_cpu, report.traffic.back().switches = sides.switches;
  }
  for (size_t i = 0; i < router_.nodes.size(); ++i) {
    if (router_.nodes[i].element->class_name == kInputMark) continue;
    Report::Element entry = element_report(static_cast<int>(i));
    for (auto& drop : entry.drops) report.dropped += drop.second;
    if (is_origin(router_.nodes[i])) report.received += entry.packets, report.received_bytes += entry.bytes;
    report.elements.push_back(std::move(entry));
  }
  return report;
}

}  // namespace heddle
