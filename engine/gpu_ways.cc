// The kernels of GPU ports: each takes packets from one port's rings through a segment to others'.
#include <algorithm>

#include "core/error.h"
#include "engine/gpu_ports.h"

namespace heddle {
namespace {

/** The node of a segment's program that is this one. */
uint16_t node_of(const Segment& segment, int node) {
  return static_cast<uint16_t>(std::ranges::find(segment.nodes, node) - segment.nodes.begin());
}

std::string user_name(const RingPort& from, uint32_t queue) { return from.name + " " + std::to_string(queue); }

}  // namespace

void GpuPorts::place(const Port& port, Direction direction, gpu::Device& own) const {
  const RingPort::Rings& rings = port.rings->directions[direction];
  if (rings.memory != nullptr && rings.memory != &own)
    refuse(port, format("port %s runs on %s; leave it there, or start the program anew", port.rings->name.c_str(),
                        rings.memory->info().name.c_str()));
  port.rings->place(direction, own);
}

void GpuPorts::add(const Segment& plan, GpuSegment& segment) {
  if (ways_.empty()) give_back();  // no kernel runs
  add_soft_nics(plan, segment.device());
  share_out_rings(plan);
  for (size_t entrance = 0; entrance < plan.from.size(); ++entrance) add_way(plan, segment, entrance);
}

void GpuPorts::share_out_rings(const Segment& plan) {
  for (size_t exit = 0; exit < plan.to.size(); ++exit) {
    std::vector<std::string> names;
    for (const auto& [node, leaves_by] : plan.from) {
      const RingPort& from = *port_of(node).rings;
      for (uint32_t queue = 0; leaves_by[exit] && queue < from.queues(kReceive); ++queue)
        names.push_back(user_name(from, queue));
    }
    Port& to = ports_[static_cast<size_t>(&port_of(plan.to[exit]) - ports_.data())];
    to.users = to.rings->users;
    to.users.resize(names.size());
    for (std::string& user : to.users)
      if (std::ranges::find(names, user) == names.end()) user.clear();
    for (const std::string& name : names)
      if (std::ranges::find(to.users, name) == to.users.end()) *std::ranges::find(to.users, "") = name;
  }
}

void GpuPorts::add_way(const Segment& plan, GpuSegment& segment, size_t entrance) {
  const Port& from = port_of(plan.from[entrance].port);
  RingPort& in = *from.rings;
  gpu::Device &device = segment.device(), &own = memory_->beside(device);
  Way way{&segment, entrance, &in};
  place(from, kReceive, own);
  bool swaps = true;  // all buffers
  for (size_t exit = 0; exit < plan.to.size(); ++exit) {
    if (!plan.from[entrance].leaves_by[exit]) continue;
    const Port& to = port_of(plan.to[exit]);
    way.to.push_back({to.rings.get(), exit, {}});
    for (uint32_t queue = 0; queue < in.queues(kReceive); ++queue)
      way.to.back().rings.push_back(
          static_cast<uint32_t>(std::ranges::find(to.users, user_name(in, queue)) - to.users.begin()));
    place(to, kTransmit, own);
    swaps = swaps && in.buffers != nullptr && in.buffers == to.rings->buffers;
  }
  std::vector<RingPort*> all{&in};
  for (const Exit& exit : way.to) all.push_back(exit.port);
  for (const RingPort* port : all) {
    if (!port->is_client()) continue;
    memory_->share(port->buffers->memory());
    memory_->share({reinterpret_cast<uint8_t*>(port->rings.base()), port->rings.bytes()});
  }
  way.rings = device.add_rings(segment.program(), static_cast<int>(in.queues(kReceive)),
                               plan.routed ? gpu::RingKind::routed
                               : in.nic    ? gpu::RingKind::nic
                               : swaps     ? gpu::RingKind::memif
                                           : gpu::RingKind::memif_copied,
                               workers(plan, from, device.info()), from.config.buffer_bytes, from.config.split);
  ways_.push_back(std::move(way));
}

int GpuPorts::workers(const Segment& plan, const Port& from, const gpu::DeviceInfo& device) const {
  if (from.config.warp_batch > 0) return from.config.warp_batch / gpu::kSlotPackets;
  if (!plan.spread) return gpu::kMaxRingWorkers;
  const Spread& spread = spread_.at(plan.processor.number);
  const bool in_place = !from.rings->nic && !plan.copies.any();
  return gpu::teams_of_pair(device.multiprocessors, spread.alone, in_place, spread.pairs, from.rings->size());
}

void GpuPorts::begin_those_that_can() {
  for (Way& way : ways_)
    if (!way.running && way.is_up()) begin(way);
}

void GpuPorts::begin(Way& way) {
  gpu::Device& device = way.segment->device();
  std::vector<gpu::RingPair> pairs;
  std::vector<gpu::RingOutput> all_outputs;  // of pairs that have several
  const Segment& plan = way.segment->plan();
  for (Exit& exit : way.to) exit.served = exit.port->takes_packets();
  for (uint32_t queue = 0; queue < way.from->queues(kReceive); ++queue) {
    const std::vector<gpu::RingOutput> own = outputs(way, queue);
    pairs.push_back({way.from->ring_end(kReceive, queue), own[0].end});
    if (plan.routed) all_outputs.insert(all_outputs.end(), own.begin(), own.end());
  }
  // The GPU ports are its first nodes, in the order of its entrances.
  const gpu::RingNodes nodes{static_cast<uint16_t>(plan.exits.size()),
                             static_cast<uint16_t>(way.entrance),
                             static_cast<uint16_t>(plan.targets[way.entrance].drops.front() - gpu::kExit),
                             plan.targets[way.entrance].outputs.front(),
                             node_of(plan, plan.to[0]),
                             static_cast<uint16_t>(way.to.size() == 1 ? way.to[0].number : gpu::kMaxOutputs)};
  try {
    device.start_rings(way.rings, {way.segment->newest(), way.segment->exit_counts_id(), nodes, pairs, all_outputs});
  } catch (const Error& error) {
    return device.fail(error.what());
  }
  way.from->directions[kReceive].fresh = false;
  way.running = true;
}

std::vector<gpu::RingOutput> GpuPorts::outputs(const Way& way, uint32_t queue) const {
  const Segment& plan = way.segment->plan();
  const RingPort& from = *way.from;
  std::vector<gpu::RingOutput> list(plan.to.size());
  for (size_t number = 0; number < list.size(); ++number) {
    list[number].end.capacity = UINT32_MAX;
    list[number].node = node_of(plan, plan.to[number]);
    list[number].first_drop = static_cast<uint16_t>(plan.targets[list[number].node].drops.front() - gpu::kExit);
  }
  for (const Exit& exit : way.to) {
    if (!exit.served) continue;
    const RingPort& to = *exit.port;
    gpu::RingOutput& output = list[exit.number];
    output.end = to.ring_end(kTransmit, exit.rings[queue]);
    // Where the buffers could change places, packets might get as long as these are.
    if (from.is_client() && to.is_client()) output.end.capacity = to.buffers->room();
    output.swaps = from.nic ? to.nic && from.nic->pool(kReceive) == to.nic->pool(kTransmit)
                            : from.buffers != nullptr && from.buffers == to.buffers;
  }
  return list;
}

void GpuPorts::end(Way& way) {
  if (!way.running) return;
  way.running = false;
  std::vector<gpu::RingStop> stops;
  try {
    stops = way.segment->device().stop_rings(way.rings);
  } catch (const Error& error) {
    way.segment->device().fail(error.what());
  }
  for (size_t queue = 0; queue < stops.size(); ++queue) {
    way.from->directions[kReceive].positions[queue].rx_position = stops[queue].rx_position;
    for (const Exit& exit : way.to)
      if (exit.served)
        exit.port->directions[kTransmit].positions[exit.rings[queue]].tx_position =
            way.segment->plan().routed ? stops[queue].outputs[exit.number] : stops[queue].tx_position;
  }
}

void GpuPorts::begin_anew() {
  std::vector<Way*> ended;
  for (Way& way : ways_)
    if (way.running) end(way), ended.push_back(&way);
  give_back();
  for (Way* way : ended) begin(*way);
}

void GpuPorts::renew() {
  const std::lock_guard lock(mutex_);
  begin_anew();
}

}  // namespace heddle
