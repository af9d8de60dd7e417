// What of GPU ports concerns soft NICs: which of them share buffers, and whether they can go on so.
#include <algorithm>

#include "core/error.h"
#include "engine/gpu_ports.h"

namespace heddle {

void GpuPorts::check_soft_nics(const Plan& plan, const GpuPorts& former) const {
  using Ends = std::pair<const RingPort*, const RingPort*>;
  std::vector<Ends> ways, former_ways;
  for (const Way& way : former.ways_)
    for (const RingPort* to : way.to) former_ways.emplace_back(way.from, to);
  const auto has = [](const std::vector<Ends>& list, const Ends& way) {
    return std::ranges::find(list, way) != list.end();
  };
  for (const Segment& segment : plan.segments)
    for (const int node : segment.to) {
      const Port &from = port_of(segment.from), &to = port_of(node);
      ways.emplace_back(from.rings.get(), to.rings.get());
      if (!from.rings->nic || !to.rings->nic || (from.rings->user == this && to.rings->user == this)) continue;
      if (!has(former_ways, ways.back()))
        refuse(from,
               format("no packets go from soft NIC %s to %s so far, and soft NICs that go on have one memory only "
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

void GpuPorts::add_soft_nics(const Way& way, gpu::Device& own, uint32_t appends) {
  using End = std::pair<RingPort*, Direction>;
  const auto add = [&](std::vector<End> ends) {
    uint32_t largest = 0;
    uint64_t buffers = 0;
    bool shared = false;
    std::erase_if(ends, [](const End& end) { return !end.first->nic; });
    for (const auto& [port, direction] : ends) {
      if (port->nic->pool(direction) != nullptr) continue;
      largest = std::max(largest, port->config.buffer_bytes);
      shared = shared || port->remote() != nullptr;
      buffers += port->nic->buffers();
    }
    std::shared_ptr<const SoftNicPort::Pool> pool;
    if (buffers > 0) {
      const uint32_t stride = headroom_ + whole_lines(largest + appends);
      check_offsets(buffers * stride);
      pool = std::make_shared<const SoftNicPort::Pool>(own, buffers * stride, stride, headroom_, shared);
    }
    uint32_t first = 0;
    for (const auto& [port, direction] : ends) {
      if (port->nic->pool(direction) == nullptr) {
        port->nic->add(own, *memory_, direction, pool, first);
        first += port->nic->buffers();
      }
      port->nic->add_engines(way.segment->device(), direction);
    }
  };
  std::vector<End> ends;
  if (way.from->nic) ends.emplace_back(way.from, kReceive);
  for (RingPort* to : way.to)
    if (way.from->nic)
      ends.emplace_back(to, kTransmit);
    else
      add({{to, kTransmit}});
  add(std::move(ends));
}

}  // namespace heddle
