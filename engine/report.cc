// What an engine says of itself while and after it runs.
#include "engine/report.h"

#include <algorithm>

#include "elements/endpoints/from_gpu_port.h"
#include "engine/engine.h"

namespace heddle {
namespace {

bool is_ring_origin(const Node& node) { return dynamic_cast<const FromGPUPort*>(node.element.get()) != nullptr; }

}  // namespace

bool is_origin(const Node& node) { return (node.source() != nullptr && !node.is_buffer()) || is_ring_origin(node); }

void add_to(std::vector<std::pair<std::string, uint64_t>>& list, const std::string& name, uint64_t more) {
  const auto found = std::find_if(list.begin(), list.end(), [&](auto& entry) { return entry.first == name; });
  if (found == list.end())
    list.emplace_back(name, more);
  else
    found->second += more;
}

void add_to(Report::Element& entry, const Report::Element& more) {
  entry.packets += more.packets;
  entry.bytes += more.bytes;
  for (auto& [reason, packets] : more.drops) add_to(entry.drops, reason, packets);
}

double Engine::progress() const {
  const std::lock_guard lock(changing_);
  double least = 2;
  for (auto& node : now_->router.nodes)
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
  const std::lock_guard lock(changing_);
  uint64_t total = earlier_received_;
  for (size_t i = 0; i < now_->router.nodes.size(); ++i)
    if (is_origin(now_->router.nodes[i])) total += packets(static_cast<int>(i));
  return total;
}

uint64_t Engine::packets_of(const Generation& generation, int node) {
  uint64_t total = generation.gpus ? generation.gpus->counts(node).first : 0;
  for (auto& worker : generation.scheduler.workers())
    total += worker->counts(node).packets.load(std::memory_order_relaxed);
  return total;
}

uint64_t Engine::bytes_of(const Generation& generation, int node) {
  const auto sum = [&](int of, std::atomic<uint64_t> NodeCounts::*which) {
    uint64_t total = 0;
    for (auto& worker : generation.scheduler.workers())
      total += (worker->counts(of).*which).load(std::memory_order_relaxed);
    return total;
  };
  if (generation.plan.nodes[static_cast<size_t>(node)].counts_bytes)
    return sum(node, &NodeCounts::bytes) + (generation.gpus ? generation.gpus->counts(node).second : 0);
  // What came to the node before it, less what that has dropped and stripped.
  const auto& nodes = generation.router.nodes;
  const int before = nodes[static_cast<size_t>(node)].predecessors[0];
  const auto moved =
      static_cast<int64_t>(sum(node, &NodeCounts::packets)) * nodes[static_cast<size_t>(before)].element->moves_head();
  const int64_t left =
      static_cast<int64_t>(bytes_of(generation, before) - sum(before, &NodeCounts::dropped_bytes)) - moved;
  return left > 0 ? static_cast<uint64_t>(left) : 0;  // counters of packets on their way may disagree
}

std::vector<double> Engine::load() const {
  std::vector<double> list;
  for (const auto& [all, busy] : cycles())
    list.push_back(all == 0 ? 0 : static_cast<double>(busy) / static_cast<double>(all));
  return list;
}

std::vector<Engine::Cycles> Engine::cycles() const {
  const std::lock_guard lock(changing_);
  return now_->scheduler.cycles();
}

Report::Element Engine::element_report(int node) const { return whole_report_of(*now_, node); }

Report::Element Engine::whole_report_of(const Generation& generation, int node) const {
  Report::Element entry = element_report_of(generation, node);
  if (const auto before = earlier_.find({entry.name, entry.class_name}); before != earlier_.end())
    add_to(entry, before->second);
  return entry;
}

Report::Element Engine::element_report_of(const Generation& generation, int node) {
  const auto i = static_cast<size_t>(node);
  const Element& element = *generation.router.nodes[i].element;
  Gpus* gpus = generation.gpus.get();
  Report::Element entry{element.name, element.class_name, "cpu", 0, 0, {}, element.statistics()};
  entry.processor = generation.plan.name_of(generation.plan.nodes[i].processor);
  entry.packets = packets_of(generation, node);
  entry.bytes = bytes_of(generation, node);
  const auto reasons = element.drop_reasons();
  std::vector<uint64_t> drops(reasons.size());
  uint64_t no_buffer = 0, no_room = 0, moved = 0, no_slot = 0, max_batch = 0, gpu_failed = 0, waited = 0;
  for (auto& worker : generation.scheduler.workers()) {
    const NodeCounts& counts = worker->counts(node);
    for (size_t r = 0; r < reasons.size(); ++r) drops[r] += counts.drops[r];
    no_room += counts.no_room, moved += counts.moved_for_room;
    no_buffer += counts.no_buffer, no_slot += counts.no_slot, max_batch += counts.max_batch,
        gpu_failed += counts.gpu_failed;
    waited += counts.waited;
  }
  if (gpus != nullptr) {
    const std::vector<uint64_t> on_rings = gpus->ring_drops(node);
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

std::vector<Report::Traffic> Engine::traffic() const {
  const std::lock_guard lock(changing_);
  const Plan& plan = now_->plan;
  std::vector<Report::Traffic> traffic;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    const Segment& segment = plan.segments[s];
    if (!segment.processor.is_gpu() || segment.has_rings()) continue;  // of rings nobody counts what crosses
    LaneBytes sum;
    Worker::Sides sides;
    for (auto& worker : workers()) {
      const LaneBytes bytes = worker->lane_bytes(static_cast<int>(s));
      sum.to_gpu += bytes.to_gpu, sum.from_gpu += bytes.from_gpu;
      sum.landed += bytes.landed, sum.landing_full += bytes.landing_full;
      const Worker::Sides here = worker->sides(static_cast<int>(s));
      sides.on_cpu += here.on_cpu, sides.bytes_on_cpu += here.bytes_on_cpu, sides.switches += here.switches;
    }
    const auto less = [](uint64_t all, uint64_t part) { return all - std::min(all, part); };
    const uint64_t entered = less(packets(segment.nodes[0]), sides.on_cpu);
    const auto declared = [&](AtomSet fields) -> uint64_t {
      if (gathers(segment.transport) || copies_by_engine(segment.transport)) return 0;
      const Atoms::Size size = plan.atoms.size(fields & plan.atoms.packet_atoms());
      return size.open ? less(bytes(segment.nodes[0]), sides.bytes_on_cpu)
                       : entered * static_cast<uint64_t>(size.bytes);
    };
    traffic.push_back({static_cast<int>(s), plan.name_of(segment.processor), sum.to_gpu, sum.from_gpu,
                       declared(segment.in), declared(segment.out)});
    if (segment.transport == Transport::landing)
      traffic.back().landed = sum.landed, traffic.back().landing_full = sum.landing_full;
    if (segment.has_both()) traffic.back().on_cpu = sides.on_cpu, traffic.back().switches = sides.switches;
  }
  return traffic;
}

Report Engine::report() const {
  const std::lock_guard lock(changing_);
  const Router& router = now_->router;
  Report report;
  report.problems = problems_;
  report.wall_s = wall_s_;
  report.cpu_s = cpu_s_;
  if (gpus()) report.device = gpus()->text();
  report.traffic = traffic();
  report.received = earlier_received_, report.received_bytes = earlier_received_bytes_;
  auto former = earlier_;  // of elements that are no more
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    if (router.nodes[i].element->class_name == kInputMark) continue;
    Report::Element entry = element_report(static_cast<int>(i));
    for (auto& drop : entry.drops) report.dropped += drop.second;
    if (is_origin(router.nodes[i])) {
      const auto [packets, bytes] = counts_of(*now_, static_cast<int>(i));
      report.received += packets, report.received_bytes += bytes;
    }
    former.erase({entry.name, entry.class_name});
    report.elements.push_back(std::move(entry));
  }
  for (auto& [key, entry] : former) {
    for (auto& drop : entry.drops) report.dropped += drop.second;
    report.elements.push_back(std::move(entry));
  }
  return report;
}

}  // namespace heddle
