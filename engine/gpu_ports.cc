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
static_assert(GPUPort::kMaxWarpBatch == gpu::kMaxTeams * gpu::kSlotPackets);
static_assert(GPUPort::kMaxSplitWarpBatch == gpu::kMaxRingWorkers * gpu::kSlotPackets);
constexpr std::chrono::seconds kSilentFor{2};  // peers may start a little later
constexpr size_t kMaxKept = 32;                // regions of peers that have gone while other kernels were resident

/** What a segment wants before its packets, bytes. */
uint32_t room_before(const Segment& segment) {
  return static_cast<uint32_t>(std::max(segment.prepends, segment.reach));
}

}  // namespace

const std::string& port_name(const Router& router, int node) {
  return dynamic_cast<const GPUPort&>(*router.nodes[static_cast<size_t>(node)].element).port();
}

std::map<std::string, GPUPort::Config> gpu_ports(const Router& router) {
  std::map<std::string, GPUPort::Config> list;
  for (const Node& node : router.nodes)
    if (const auto* port = dynamic_cast<const GPUPort*>(node.element.get()); port != nullptr && port->config())
      list.emplace(port->port(), *port->config());
  return list;
}

std::map<std::string, GPUPort::Config> gpu_ports(const Router& router, const Plan& plan) {
  auto configs = gpu_ports(router);
  std::map<std::string, int> rings;
  for (const Segment& segment : plan.segments)
    for (const auto& [port, leaves_by] : segment.from)
      for (size_t exit = 0; exit < segment.to.size(); ++exit)
        if (leaves_by[exit])
          rings[port_name(router, segment.to[exit])] += configs.at(port_name(router, port)).memif.interface.receiving;
  for (const auto& [name, count] : rings) configs.at(name).memif.interface.transmitting = count;
  return configs;
}

std::vector<GPUPort::Config> receiving_ports(const Router& router, const Segment& segment) {
  const auto configs = gpu_ports(router);
  std::vector<GPUPort::Config> list;
  for (const Segment::Entrance& from : segment.from)
    if (const auto found = configs.find(port_name(router, from.port)); found != configs.end())
      list.push_back(found->second);
  return list;
}

bool may_gather(const GPUPort::Config& config) {
  const int batch = config.warp_batch > 0 ? config.warp_batch : 1 << config.memif.interface.log2_size;
  return !config.is_nic() && config.memif.role == memif::Role::client && !config.split &&
         batch > gpu::kMaxRingWorkers * gpu::kSlotPackets;
}

GpuPorts::GpuPorts(const Router& router, const Plan& plan, const GpuPorts* former)
    : router_(router), memory_(former != nullptr ? former->memory_ : std::make_shared<PortMemory>()) {
  for (const auto& [name, config] : gpu_ports(router, plan)) {
    Port port{nullptr, config, {}, nullptr};
    for (const Node& node : router.nodes) {
      auto* const element = dynamic_cast<GPUPort*>(node.element.get());
      if (element == nullptr || element->port() != name) continue;
      port.elements.push_back(element);
      if (element->config()) port.node = &node;
      if (config.soft_nic != nullptr)
        (element->receives() ? config.soft_nic->receives : config.soft_nic->transmits) = true;
    }
    port.rings = running_port(port, name, former);
    if (port.rings == nullptr) port.rings = std::make_shared<RingPort>(name, config, this, port.elements);
    if (config.soft_nic != nullptr)
      softnic::request_queues(*config.soft_nic, config.memif.interface.receiving, config.memif.interface.transmitting,
                              config.buffer_bytes);
    for (GPUPort* element : port.elements) {
      element->losses = port.rings->losses;
      element->has_peer = config.soft_nic == nullptr;
    }
    ports_.push_back(std::move(port));
  }
  if (former != nullptr) check_soft_nics(plan, *former);
  for (const Segment& segment : plan.segments) {
    if (!segment.processor.is_gpu()) continue;
    Spread& spread = spread_[segment.processor.number];
    spread.alone = spread.alone && segment.spread;
    for (const Segment::Entrance& from : segment.from) {
      const Port& port = port_of(from.port);
      if (segment.spread) spread.pairs += static_cast<int>(port.rings->queues(kReceive));
      spread.alone = spread.alone && port.config.warp_batch == 0;
    }
  }
  make_memory(plan);
}

GpuPorts::~GpuPorts() { stop(); }

uint32_t GpuPorts::whole_lines(uint32_t bytes) { return (bytes + 127) / 128 * 128; }

void GpuPorts::check_offsets(uint64_t bytes) {
  if (bytes >= uint64_t{1} << 32)
    throw Error(
        format("the buffers of GPU ports need %llu MiB, 4096 are allowed; use fewer QUEUES, or less NDESC or BUFFER",
               static_cast<unsigned long long>(bytes >> 20)));
}

void GpuPorts::refuse(const Port& port, const std::string& why) const {
  throw Error(port.node->where.text() + ": " + port.node->element->class_name + " '" + port.node->element->name +
              "': " + why);
}

std::shared_ptr<RingPort> GpuPorts::running_port(const Port& port, const std::string& name,
                                                 const GpuPorts* former) const {
  if (former == nullptr) return nullptr;
  for (const Port& other : former->ports_) {
    RingPort& running = *other.rings;
    const std::string difference = running.difference(
        port.config, std::ranges::any_of(port.elements, [](auto* element) { return !element->receives(); }));
    if (running.name == name && difference.empty()) return other.rings;
    if (running.name == name)
      refuse(port, format("port %s runs, and %s; leave it so, give the new port another name, or start the program "
                          "anew",
                          name.c_str(), difference.c_str()));
    if (running.shares_place(port.config))
      refuse(port, format("%s is that of port %s, which runs; call it so, or start the program anew",
                          running.remote() ? "NIC_SOCKET"
                          : running.nic    ? "SOFTNIC"
                                           : "SOCKET",
                          running.name.c_str()));
  }
  return nullptr;
}

void GpuPorts::make_memory(const Plan& plan) {
  uint32_t appends = 0, largest = 0;
  for (const Segment& segment : plan.segments) {
    if (!segment.has_rings()) continue;
    headroom_ = std::max(headroom_, whole_lines(room_before(segment)));
    appends = std::max(appends, static_cast<uint32_t>(segment.appends));
    for (const Segment::Entrance& from : segment.from) check_room(port_of(from.port), segment);
  }
  for (const Port& port : ports_)
    if (port.is_new(this) && !port.rings->nic) largest = std::max(largest, port.config.buffer_bytes);
  auto buffers = std::make_shared<ClientBuffers>();
  buffers->headroom = headroom_;
  buffers->stride = headroom_ + whole_lines(largest + appends);
  uint64_t count = 0;
  for (const Port& port : ports_) {
    RingPort& rings = *port.rings;
    if (!port.is_new(this) || !rings.is_client()) continue;
    rings.buffers = buffers;
    rings.first_buffer = static_cast<uint32_t>(count);
    count += uint64_t{rings.queues(kReceive) + rings.queues(kTransmit)} * rings.size();
    rings.rings = memif::Region(memif::ClientSession::rings_bytes(port.config.memif.interface));
  }
  check_offsets(count * buffers->stride);
  if (count > 0) buffers->region = memif::Region(count * buffers->stride);
  for (const Port& port : ports_) {
    RingPort& rings = *port.rings;
    if (!port.is_new(this) || rings.nic) continue;
    const memif::Region* const region = rings.is_client() ? &buffers->region : nullptr;
    rings.memif = std::make_unique<memif::Port>(port.config.memif, &rings.rings, region);
    rings.memif->on_down = [this, &rings](memif::Session& session) { peer_has_gone(rings, session); };
  }
}

void GpuPorts::check_room(const Port& from, const Segment& segment) const {
  const RingPort& rings = *from.rings;
  const SoftNicPort::Pool* const pool = rings.nic ? rings.nic->pool(kReceive) : nullptr;
  if (from.is_new(this) || (pool == nullptr && !rings.is_client())) return;
  const uint32_t headroom = pool != nullptr ? pool->headroom : rings.buffers->headroom,
                 behind =
                     (pool != nullptr ? pool->stride : rings.buffers->stride) - headroom - from.config.buffer_bytes;
  const uint32_t before = room_before(segment), appends = static_cast<uint32_t>(segment.appends);
  if (before > headroom || appends > behind)
    refuse(from,
           format("what its packets go through wants %u bytes before them and %u behind, and the buffers of port "
                  "%s, which runs, have %u and %u; give the port another name and place, or start the program anew",
                  before, appends, rings.name.c_str(), headroom, behind));
}

const GpuPorts::Port& GpuPorts::port_of(int node) const {
  return *std::ranges::find_if(ports_, [&](auto& port) { return port.rings->name == port_name(router_, node); });
}

void GpuPorts::open() {
  for (Port& port : ports_)
    if (port.is_new(this) && !port.rings->nic && !std::exchange(port.is_open, true)) try {
        port.rings->memif->open();
      } catch (const Error& error) {
        refuse(port, std::string("SOCKET: ") + error.what());
      }
}

void GpuPorts::start() {
  if (!any()) return;
  open();
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_ < 0) throw Error("no eventfd for GPU ports");
  for (Port& port : ports_) {
    RingPort& rings = *port.rings;
    if (!port.is_new(this) || !rings.nic) continue;
    if (rings.remote() != nullptr)
      rings.remote()->on_down = [this, &rings] { nic_has_gone(rings); };
    else
      rings.begin_rings(), rings.tell_elements();
    rings.nic->start(*rings.losses);
  }
  thread_ = std::thread([this] { serve(); });
}

void GpuPorts::take_over() noexcept {
  {
    const std::lock_guard lock(mutex_);
    for (Port& port : ports_) {
      RingPort& rings = *port.rings;
      rings.users = std::move(port.users);
      if (port.is_new(this)) continue;
      rings.user = this;
      rings.elements.swap(port.elements);
      rings.tell_elements();
      if (rings.nic) rings.nic->take_over(port.config.soft_nic);
      if (rings.remote() != nullptr)
        rings.remote()->on_down = [this, &rings] { nic_has_gone(rings); };
      else if (!rings.nic)
        rings.memif->on_down = [this, &rings](memif::Session& session) { peer_has_gone(rings, session); };
    }
    serving_ = true;
  }
  wake();
}

void GpuPorts::pause() {
  const std::lock_guard lock(mutex_);
  serving_ = false;
  for (Way& way : ways_) end(way);
  for (const Port& port : ports_)
    if (port.rings->nic) port.rings->nic->pause();
}

void GpuPorts::go_on() {
  {
    const std::lock_guard lock(mutex_);
    for (const Port& port : ports_)
      if (port.rings->nic) port.rings->nic->go_on();
    serving_ = true;
  }
  wake();
}

void GpuPorts::stop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake();
    thread_.join();
  }
  const char* const reason = serving_ ? "the program ends" : "the port is closed";
  if (serving_) {
    for (const Port& port : ports_)
      if (port.rings->nic)
        port.rings->nic->stop_receiving(
            std::ranges::none_of(ways_, [&](const Way& way) { return way.from == port.rings.get() && !way.running; }));
    for (Way& way : ways_) end(way);
    wake_peers();
    serving_ = false;
  }
  for (const Port& port : ports_)
    if (port.rings->user == this) port.rings->close(*memory_, reason);
  ports_.clear(), ways_.clear();
  if (wake_ >= 0) ::close(std::exchange(wake_, -1));
}

void GpuPorts::wake() {
  const uint64_t one = 1;
  if (wake_ >= 0 && write(wake_, &one, sizeof one) < 0) std::perror("heddle: eventfd");
}

void GpuPorts::serve() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point look_again{};
  bool called = false;
  for (;;) {
    std::vector<pollfd> files{{wake_, POLLIN, 0}};
    microseconds pause = kLookEvery;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      if (serving_) {
        if (const auto now = Clock::now(); called || now >= look_again) {
          look();
          look_again = now + kLookEvery;
        }
        pause = wake_peers();
        for (const Port& port : ports_)
          if (const int file = port.rings->descriptor(); file >= 0) files.push_back({file, POLLIN, 0});
      }
    }
    const timespec time{0, std::chrono::nanoseconds(pause).count()};
    called = ppoll(files.data(), files.size(), &time, nullptr) > 0;
    if ((files[0].revents & POLLIN) == 0) continue;
    uint64_t calls = 0;
    if (read(wake_, &calls, sizeof calls) < 0) std::perror("heddle: eventfd");
  }
}

void GpuPorts::look() {
  for (const Port& each : ports_) {
    RingPort& port = *each.rings;
    if (!port.has_peer()) continue;
    port.serve();
    tell_problem(port);
    if (!port.is_up() || port.number == port.peer_number()) continue;
    try {
      new_connection(port);
    } catch (const Error& error) {
      port.say(std::string("its peer's memory cannot be used: ") + error.what());
      port.disconnect("the GPU cannot use the memory");
    }
  }
  if (has_failed()) return;
  for (const Port& each : ports_) each.rings->look_for_buffers();
  for (Way& way : ways_)
    if (way.lacks_peer()) end(way);
  begin_those_that_can();
  for (const Way& way : ways_) {
    const gpu::RingFault fault = way.running ? way.segment->device().ring_fault(way.rings) : gpu::kNoFault;
    if (fault == gpu::kNoFault) continue;
    RingPort& liar = fault == gpu::kRxIndexLies
                         ? *way.from
                         : *std::ranges::find(way.to, size_t{fault - gpu::kTxIndexLies}, &Exit::number)->port;
    liar.say(std::string(gpu::text(fault)) + "; it is disconnected");
    liar.memif->disconnect(gpu::text(fault));
  }
  begin_those_that_can();  // without those that have lied
  // Who reads that a port is connected finds that packets come and go by it.
  for (const Port& each : ports_)
    if (each.rings->has_peer()) each.rings->tell_elements();
}

void GpuPorts::tell_problem(RingPort& port) {
  const auto now = std::chrono::steady_clock::now();
  if (port.unreachable().empty() || port.reached == std::chrono::steady_clock::time_point{}) port.reached = now;
  std::string problem = port.refusal();
  if (!problem.empty()) problem = "no connection at " + port.socket() + ": " + problem;
  if (now - port.reached > kSilentFor) problem = "its peer is not there: " + port.unreachable();
  if (problem.empty() || problem == port.told || !port.may_say()) return;
  port.told = problem;
  port.say(problem);
}

microseconds GpuPorts::wake_peers() {
  using Found = memif::Interrupts::Found;
  Found found = Found::only_polling;
  for (const Port& port : ports_)
    if (!port.rings->nic && port.rings->is_up()) found = std::max(found, port.rings->interrupts.look(events_));
  pause_ = found == Found::only_polling ? kLookEvery
           : found == Found::packets    ? kWakeSoonest
                                        : std::min(pause_ * 9 / 8, kWakeLatest);
  return pause_;
}

bool GpuPorts::has_failed() {
  bool failed = false;
  for (const Way& way : ways_) {
    if (way.segment->device().failure().empty()) continue;
    failed = true;
    for (GPUPort* element : way.from->elements) element->failed = true;
    for (const Exit& exit : way.to)
      for (GPUPort* element : exit.port->elements) element->failed = true;
  }
  return failed;
}

void GpuPorts::new_connection(RingPort& port) {
  port.number = port.peer_number();
  port.told.clear();
  if (port.remote() != nullptr) {
    give_back();
    port.nic->connect(*memory_);
    return port.begin_rings();
  }
  port.interrupts.begin(*port.memif->session(), port.config.memif.role);
  if (const memif::ServerSession* session = port.memif->server_session()) {
    give_back();
    const auto is_too_much = [&] { return memory_->kept() + session->regions().size() > kMaxKept; };
    if (is_too_much()) {  // without kernels memory can be given back; look() begins them again, with this port
      for (Way& way : ways_) end(way);
      give_back();
    }
    if (is_too_much())
      throw Error(
          "the memory of too many former peers is still in use, because kernels of functions are resident; run "
          "with --launch async");
  }
  port.begin_rings();
  for (const gpu::SharedMemory& memory : port.peer_memory) memory_->share(memory);
}

void GpuPorts::peer_has_gone(RingPort& port, memif::Session& session) {
  for (Way& way : ways_)
    if (way.has(port)) end(way);
  port.forget_peer(*memory_, session);
  if (serving_) give_back();
}

void GpuPorts::nic_has_gone(RingPort& port) {
  for (Way& way : ways_)
    if (way.has(port)) end(way);
  port.forget_nic(*memory_);
  if (serving_) give_back();
}

void GpuPorts::give_back() {
  memory_->take_back([this](const gpu::SharedMemory& memory) {
    return std::ranges::all_of(ways_, [&](const Way& way) { return way.segment->device().unshare(memory); });
  });
}

}  // namespace heddle
