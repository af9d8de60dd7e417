#include "engine/gpu_ports.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/error.h"

namespace heddle {
namespace {

using std::chrono::microseconds;
// For peers that call or unmask, and for rings that have ended by themselves.
constexpr microseconds kLookEvery{50'000};
// For packets to peers in interrupt mode. After each look that finds nothing the pause is an eighth longer, so that it
// is about an eighth of the time for which nothing has come.
constexpr microseconds kWakeSoonest{50}, kWakeLatest{4000};
constexpr uint32_t kLine = 128;
static_assert(GPUPort::kMostWarpBatch == gpu::kMostTeams * gpu::kSlotPackets);
static_assert(GPUPort::kMostSplitWarpBatch == gpu::kMostRingWorkers * gpu::kSlotPackets);
constexpr size_t kMostKept = 32;  // regions of peers that have gone while other kernels were resident

uint32_t round_up(uint32_t value) { return (value + kLine - 1) / kLine * kLine; }

/** Offsets of buffers have 32 bits, as memif's descriptors have it. */
void check_offsets(uint64_t bytes) {
  if (bytes >= uint64_t{1} << 32)
    throw Error(
        format("the buffers of GPU ports need %llu MiB, 4096 are allowed; use fewer QUEUES, or less NDESC or BUFFER",
               static_cast<unsigned long long>(bytes >> 20)));
}

gpu::SharedMemory memory_of(const memif::Region& region) {
  return {reinterpret_cast<uint8_t*>(region.base()), region.bytes()};
}

}  // namespace

std::map<std::string, GPUPort::Config> gpu_ports(const Router& router) {
  std::map<std::string, GPUPort::Config> list;
  for (const Node& node : router.nodes)
    if (const auto* port = dynamic_cast<const GPUPort*>(node.element.get()); port != nullptr && port->config())
      list.emplace(port->port(), *port->config());
  return list;
}

std::optional<GPUPort::Config> receiving_port(const Router& router, const Segment& segment) {
  const auto& from = dynamic_cast<const GPUPort&>(*router.nodes[static_cast<size_t>(segment.from)].element);
  const auto configs = gpu_ports(router);
  const auto found = configs.find(from.port());
  return found == configs.end() ? std::nullopt : std::optional(found->second);
}

bool may_gather(const GPUPort::Config& config) {
  const int batch = config.warp_batch > 0 ? config.warp_batch : 1 << config.memif.interface.log2_size;
  return config.soft_nic == nullptr && config.memif.role == memif::Role::client && !config.split &&
         batch > gpu::kMostRingWorkers * gpu::kSlotPackets;
}

GpuPorts::GpuPorts(const Router& router, const Plan& plan) : router_(router) {
  for (const auto& [name, config] : gpu_ports(router)) {
    auto port = std::make_unique<Port>();
    port->name = name;
    port->config = config;
    for (const Node& node : router.nodes)
      if (auto* element = dynamic_cast<GPUPort*>(node.element.get()); element != nullptr && element->port() == name)
        port->elements.push_back(element);
    if (config.soft_nic != nullptr) {
      port->nic = std::make_unique<SoftNicPort>(config);
      const auto losses = std::make_shared<softnic::Counts>();
      for (GPUPort* element : port->elements) {
        element->losses = losses;
        (element->receives() ? config.soft_nic->receives : config.soft_nic->transmits) = true;
      }
    }
    ports_.push_back(std::move(port));
  }
  uint32_t appends = 0, largest = 0;
  for (const Segment& segment : plan.segments) {
    if (!segment.processor.is_gpu()) continue;
    Spread& spread = spread_[segment.processor.number];
    if (segment.spread) spread.pairs += static_cast<int>(port_of(segment.from).queues());
    spread.alone = spread.alone && segment.spread && port_of(segment.from).config.warp_batch == 0;
    if (!segment.has_rings()) continue;
    headroom_ = std::max(headroom_, round_up(static_cast<uint32_t>(std::max(segment.prepends, segment.reach))));
    appends = std::max(appends, static_cast<uint32_t>(segment.appends));
  }
  for (const auto& port : ports_)
    if (!port->nic) largest = std::max(largest, port->config.buffer_bytes);
  stride_ = headroom_ + round_up(largest + appends);
  make_memory();
}

GpuPorts::~GpuPorts() { stop(); }

void GpuPorts::make_memory() {
  uint64_t count = 0;
  for (const auto& port : ports_) {
    if (!port->is_client()) continue;
    port->first_buffer = static_cast<uint32_t>(count);
    count += uint64_t{2} * port->queues() * port->size();
    port->rings = memif::Region(memif::ClientSession::rings_bytes(port->config.memif.interface));
  }
  check_offsets(count * stride_);
  if (count > 0) buffers_ = memif::Region(count * stride_);
  for (const auto& port : ports_) {
    if (port->nic) continue;
    port->memif = std::make_unique<memif::Port>(port->config.memif, &port->rings, &buffers_);
    port->memif->on_down = [this, &port = *port](memif::Session& session) { peer_has_gone(port, session); };
  }
}

GpuPorts::Port& GpuPorts::port_of(int node) const {
  const auto& name = dynamic_cast<const GPUPort&>(*router_.nodes[static_cast<size_t>(node)].element).port();
  return **std::find_if(ports_.begin(), ports_.end(), [&](auto& port) { return port->name == name; });
}

gpu::TableId GpuPorts::add_buffers(gpu::Device& device, const Port& port, Direction direction) const {
  const uint32_t count = port.queues() * port.size(), first = port.first_buffer + (direction == kReceive ? 0 : count);
  std::vector<uint32_t> offsets(count);
  for (uint32_t i = 0; i < count; ++i) offsets[i] = (first + i) * stride_;
  return device.add_table(std::as_bytes(std::span(offsets)));
}

void GpuPorts::add(const Segment& plan, GpuSegment& segment) {
  Port &from = port_of(plan.from), &to = port_of(plan.to);
  gpu::Device& device = segment.device();
  if (from.nic) add_soft_nics(from, to, device, static_cast<uint32_t>(plan.appends));
  if (from.is_client()) from.directions[kReceive].buffers = add_buffers(device, from, kReceive);
  if (to.is_client()) to.directions[kTransmit].buffers = add_buffers(device, to, kTransmit);
  if (buffers_.base() != nullptr && !from.nic) device.share(memory_of(buffers_));
  for (const Port* port : {&from, &to})
    if (port->is_client()) device.share(memory_of(port->rings));
  ways_.push_back({&segment, &from, &to,
                   device.add_rings(segment.program(), static_cast<int>(from.queues()),
                                    from.nic                             ? gpu::RingKind::nic
                                    : from.is_client() && to.is_client() ? gpu::RingKind::memif
                                                                         : gpu::RingKind::memif_copied,
                                    workers(plan, from, device.info()), from.config.buffer_bytes, from.config.split)});
}

int GpuPorts::workers(const Segment& plan, const Port& from, const gpu::DeviceInfo& device) const {
  if (from.config.warp_batch > 0) return from.config.warp_batch / gpu::kSlotPackets;
  if (!plan.spread) return gpu::kMostRingWorkers;
  const Spread& spread = spread_.at(plan.processor.number);
  const bool in_place = !from.nic && !plan.copies.any();
  return gpu::teams_of_pair(device.multiprocessors, spread.alone, in_place, spread.pairs, from.size());
}

void GpuPorts::add_soft_nics(Port& from, Port& to, gpu::Device& device, uint32_t appends) {
  const uint32_t stride = headroom_ + round_up(std::max(from.config.buffer_bytes, to.config.buffer_bytes) + appends);
  const uint64_t bytes = (uint64_t{from.nic->buffers()} + to.nic->buffers()) * stride;
  check_offsets(bytes);
  auto* const base = static_cast<uint8_t*>(device.address(device.add_state(bytes)));
  const SoftNicPort::Pool pool{{base, bytes}, stride, headroom_};
  from.nic->add(device, kReceive, pool, 0);
  to.nic->add(device, kTransmit, pool, from.nic->buffers());
}

void GpuPorts::start() {
  if (!any()) return;
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_ < 0) throw Error("no eventfd for GPU ports");
  for (auto& port : ports_) {
    if (!port->nic) {
      port->memif->open();
      continue;
    }
    begin_rings(*port);
    port->nic->start(*port->elements[0]->losses);
  }
  thread_ = std::thread([this] { serve(); });
}

void GpuPorts::stop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    const uint64_t one = 1;
    if (write(wake_, &one, sizeof one) < 0) std::perror("heddle: eventfd");
    thread_.join();
    for (auto& port : ports_)
      if (port->nic) port->nic->stop_receiving();
    for (Way& way : ways_) end(way);
    wake_peers();
    for (auto& port : ports_) port->nic ? port->nic->stop() : port->memif->disconnect("the program ends");
  }
  if (wake_ >= 0) close(std::exchange(wake_, -1));
}

void GpuPorts::serve() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point look_again{};
  bool called = false;
  for (;;) {
    std::vector<pollfd> files{{wake_, POLLIN, 0}};
    microseconds pause;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      if (const auto now = Clock::now(); called || now >= look_again) {
        look();
        look_again = now + kLookEvery;
      }
      pause = wake_peers();
      for (auto& port : ports_)
        if (!port->nic && port->memif->descriptor() >= 0) files.push_back({port->memif->descriptor(), POLLIN, 0});
    }
    const timespec time{0, std::chrono::nanoseconds(pause).count()};
    called = ppoll(files.data(), files.size(), &time, nullptr) > 0;
  }
}

void GpuPorts::look() {
  for (auto& port : ports_) {
    if (port->nic) continue;
    port->memif->serve();
    if (port->memif->refused() && port->memif->problem() != port->told) {
      port->told = port->memif->problem();
      std::fprintf(stderr, "heddle: GPU port %s: no connection at %s: %s\n", port->name.c_str(),
                   port->memif->config().socket.c_str(), port->told.c_str());
    }
    if (port->memif->session() == nullptr || port->number == port->memif->number()) continue;
    try {
      new_connection(*port);
    } catch (const Error& error) {
      std::fprintf(stderr, "heddle: GPU port %s: its peer's memory cannot be used: %s\n", port->name.c_str(),
                   error.what());
      port->memif->disconnect("the GPU cannot use the memory");
    }
  }
  if (has_failed()) return;
  for (Way& way : ways_) {
    if (!way.running && way.from->is_up() && way.to->is_up()) begin(way);
    const gpu::RingFault fault = way.running ? way.segment->device().ring_fault(way.rings) : gpu::kNoFault;
    if (fault == gpu::kNoFault) continue;
    Port& liar = fault == gpu::kRxIndexLies ? *way.from : *way.to;
    std::fprintf(stderr, "heddle: GPU port %s: %s; it is disconnected\n", liar.name.c_str(), gpu::text(fault));
    liar.memif->disconnect(gpu::text(fault));
  }
}

microseconds GpuPorts::wake_peers() {
  using Found = memif::Interrupts::Found;
  Found found = Found::only_polling;
  for (auto& port : ports_)
    if (!port->nic && port->is_up()) found = std::max(found, port->interrupts.look(events_));
  pause_ = found == Found::only_polling ? kLookEvery
           : found == Found::packets    ? kWakeSoonest
                                        : std::min(pause_ * 9 / 8, kWakeLatest);
  return pause_;
}

bool GpuPorts::has_failed() {
  for (const Way& way : ways_) {
    if (way.segment->device().failure().empty()) continue;
    for (const Port* port : {way.from, way.to})
      for (GPUPort* element : port->elements) element->failed = true;
    return true;
  }
  return false;
}

void GpuPorts::new_connection(Port& port) {
  port.number = port.memif->number();
  port.interrupts.begin(*port.memif->session(), port.config.memif.role);
  begin_rings(port);
  if (const memif::ServerSession* session = port.memif->server_session()) take_memory(port, *session);
}

void GpuPorts::begin_rings(Port& port) {
  for (Rings& rings : port.directions) {
    rings.positions.assign(port.queues(), {0, 0});
    rings.fresh = true;
  }
  for (GPUPort* element : port.elements) {
    element->connected = true;
    element->connections.fetch_add(1);
  }
}

void GpuPorts::take_memory(Port& port, const memif::ServerSession& session) {
  give_back();
  const auto is_too_much = [&] { return kept_.size() + session.regions().size() > kMostKept; };
  if (is_too_much()) begin_anew();
  if (is_too_much())
    throw Error(
        "the memory of too many former peers is still in use, because kernels of functions are resident; run "
        "with --launch async");
  for (const memif::Region& region : session.regions()) port.peer_memory.push_back(memory_of(region));
  port.peer_capacity = smallest_buffer(session);
  for (const Way& way : ways_)
    if (way.from == &port || way.to == &port)
      for (const gpu::SharedMemory& memory : port.peer_memory) way.segment->device().share(memory);
}

uint32_t GpuPorts::smallest_buffer(const memif::Session& session) {
  uint32_t least = UINT16_MAX;
  for (const memif::SharedRing& shared : session.transmitting())
    for (int i = 0; i < 1 << shared.log2_size; ++i) {
      const uint32_t bytes = __atomic_load_n(&shared.ring->descriptors()[i].length, __ATOMIC_RELAXED);
      if (bytes > 0) least = std::min(least, bytes);
    }
  return least;
}

void GpuPorts::peer_has_gone(Port& port, memif::Session& session) {
  for (Way& way : ways_)
    if (way.from == &port || way.to == &port) end(way);
  for (GPUPort* element : port.elements) element->connected = false;
  port.peer_memory.clear();
  auto* server = dynamic_cast<memif::ServerSession*>(&session);
  if (server == nullptr) return;
  for (memif::Region& region : server->take_regions()) kept_.push_back(std::move(region));
  give_back();
}

void GpuPorts::give_back() {
  std::erase_if(kept_, [this](const memif::Region& region) {
    return std::all_of(ways_.begin(), ways_.end(),
                       [&](const Way& way) { return way.segment->device().unshare(memory_of(region)); });
  });
}

gpu::RingEnd GpuPorts::ring_end(Port& port, Direction direction, uint32_t queue, gpu::Device& device) const {
  const Rings& rings = port.directions[direction];
  gpu::RingEnd end{};
  if (port.nic) end = port.nic->ring_end(direction, queue);
  end.position = direction == kReceive ? rings.positions[queue].rx_position : rings.positions[queue].tx_position;
  end.fresh = rings.fresh;
  if (port.nic) return end;
  const memif::Session& session = *port.memif->session();
  const auto& shared = (direction == kReceive ? session.receiving() : session.transmitting())[queue];
  end.ring = shared.ring;
  end.size = 1u << shared.log2_size;
  end.owner = port.is_client();
  end.capacity = port.config.buffer_bytes;
  if (end.owner) {
    end.buffers = static_cast<uint32_t*>(device.address(rings.buffers)) + size_t{queue} * end.size;
    end.headroom = headroom_;
    end.region = memif::ClientSession::kBufferRegion;
    end.memory[0] = memory_of(buffers_);
    return end;
  }
  end.capacity = port.peer_capacity;
  end.region_count = static_cast<uint16_t>(port.peer_memory.size());
  std::copy(port.peer_memory.begin(), port.peer_memory.end(), end.memory);
  return end;
}

void GpuPorts::begin(Way& way) {
  gpu::Device& device = way.segment->device();
  std::vector<gpu::RingPair> pairs;
  for (uint32_t queue = 0; queue < way.from->queues(); ++queue)
    pairs.push_back({ring_end(*way.from, kReceive, queue, device), ring_end(*way.to, kTransmit, queue, device)});
  const Segment& plan = way.segment->plan();
  try {
    device.start_rings(
        way.rings, {way.segment->newest(), way.segment->exit_counts_id(), static_cast<uint16_t>(plan.exits.size()), 1,
                    static_cast<uint16_t>(plan.nodes.size() - 1), pairs});
  } catch (const Error& error) {
    return device.fail(error.what());
  }
  way.from->directions[kReceive].fresh = false;
  way.running = true;
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
    way.to->directions[kTransmit].positions[queue].tx_position = stops[queue].tx_position;
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
