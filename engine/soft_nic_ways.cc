// What of GPU ports concerns soft NICs: which of them share buffers, and whether they can go on so.
#include <algorithm>

#include "core/error.h"
#include "engine/gpu_ports.h"

namespace heddle {
namespace {

/** The GPU ports, as nodes, that packets come from, and those that they may leave by. */
std::vector<std::pair<int, int>> ends_of_ways(const Plan& plan) {
  std::vector<std::pair<int, int>> list;
  for (const Segment& segment : plan.segments)
    for (const auto& [from, leaves_by] : segment.from)
      for (size_t exit = 0; exit < segment.to.size(); ++exit)
        if (leaves_by[exit]) list.emplace_back(from, segment.to[exit]);
  return list;
}

}  // namespace

void GpuPorts::check_soft_nics(const Plan& plan, const GpuPorts& former) const {
  using Ends = std::pair<const RingPort*, const RingPort*>;
  std::vector<Ends> ways, former_ways;
  for (const Way& way : former.ways_)
    for (const Exit& exit : way.to) former_ways.emplace_back(way.from, exit.port);
  const auto has = [](const std::vector<Ends>& list, const Ends& way) {
    return std::ranges::find(list, way) != list.end();
  };
  for (const auto& [from_node, to_node] : ends_of_ways(plan)) {
    const Port &from = port_of(from_node), &to = port_of(to_node);
    ways.emplace_back(from.rings.get(), to.rings.get());
    if (!from.rings->nic || !to.rings->nic || (from.rings->user == this && to.rings->user == this)) continue;
    if (!has(former_ways, ways.back()))
      refuse(from, format("no packets go from soft NIC %s to %s so far, and soft NICs that go on have one memory only "
                          "with those that theirs go to; leave the ways between them, or start the program anew",
                          from.rings->name.c_str(), to.rings->name.c_str()));
  }
  for (const auto& way : former_ways)
    for (const Port& port : ports_)
      if (way.first->nic && way.second->nic && (port.rings.get() == way.first || port.rings.get() == way.second) &&
          !has(ways, way))
        refuse(port,
               format("packets go from soft NIC %s to %s, and of these two one alone cannot go on; leave both, or "
                      "start the program anew",
                      way.first->name.c_str(), way.second->name.c_str()));
  for (const Port& port : ports_) {
    const RingPort& rings = *port.rings;
    if (!rings.nic || port.is_new(this)) continue;
    for (const Direction direction : {kReceive, kTransmit}) {
      const bool has_now = std::ranges::any_of(
          ways, [&](const Ends& way) { return (direction == kReceive ? way.first : way.second) == &rings; });
      if (has_now == (rings.nic->pool(direction) != nullptr)) continue;
      const char* const element = direction == kReceive ? "FromGPUPort" : "ToGPUPort";
      refuse(port, format("soft NIC %s runs %s a %s; leave it so, or start the program anew", rings.name.c_str(),
                          has_now ? "without" : "with", element));
    }
  }
}

void GpuPorts::add_soft_nics(const Segment& plan, gpu::Device& device) {
  using End = std::pair<SoftNicPort*, Direction>;
  gpu::Device& own = memory_->beside(device);
  const auto add = [&](const std::vector<End>& ends) {
    uint32_t largest = 0;
    uint64_t buffers = 0;
    bool shared = false;
    for (const auto& [nic, direction] : ends) {
      if (nic->pool(direction) != nullptr) continue;
      largest = std::max(largest, nic->buffer_bytes());
      shared = shared || nic->remote() != nullptr;
      buffers += nic->buffers(direction);
    }
    std::shared_ptr<const SoftNicPort::Pool> pool;
    if (buffers > 0) {
      const uint32_t stride = headroom_ + whole_lines(largest + static_cast<uint32_t>(plan.appends));
      check_offsets(buffers * stride);
      pool = std::make_shared<const SoftNicPort::Pool>(own, buffers * stride, stride, headroom_, shared);
    }
    uint32_t first = 0;
    for (const auto& [nic, direction] : ends) {
      if (nic->pool(direction) == nullptr) {
        nic->add(own, *memory_, direction, pool, first);
        first += nic->buffers(direction);
      }
      nic->add_engines(device, direction);
    }
  };
  std::vector<End> receiving, transmitting;
  for (const Segment::Entrance& from : plan.from)
    if (const auto& nic = port_of(from.port).rings->nic) receiving.emplace_back(nic.get(), kReceive);
  for (const int to : plan.to)
    if (const auto& nic = port_of(to).rings->nic) transmitting.emplace_back(nic.get(), kTransmit);
  if (receiving.empty()) {
    for (const End& end : transmitting) add({end});
  } else {
    receiving.insert(receiving.end(), transmitting.begin(), transmitting.end());
    add(receiving);
  }
}

}  // namespace heddle
