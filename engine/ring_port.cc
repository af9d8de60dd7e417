#include "engine/ring_port.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"

namespace heddle {
namespace {

gpu::SharedMemory memory_of(const memif::Region& region) {
  return {reinterpret_cast<uint8_t*>(region.base()), region.bytes()};
}

GPUPort::Config without_port(GPUPort::Config config) {
  config.soft_nic = nullptr;  // another configuration has another object
  return config;
}

std::filesystem::path path_of(const std::string& socket) {
  return socket.empty() ? std::filesystem::path() : std::filesystem::absolute(socket).lexically_normal();
}

std::string dpdk_name(const std::string& device) { return device.substr(0, device.find(',')); }

uint32_t smallest_buffer(const memif::Session& session) {
  uint32_t least = UINT16_MAX;
  for (const memif::SharedRing& shared : session.transmitting())
    for (int i = 0; i < 1 << shared.log2_size; ++i) {
      const uint32_t bytes = __atomic_load_n(&shared.ring->descriptors()[i].length, __ATOMIC_RELAXED);
      if (bytes > 0) least = std::min(least, bytes);
    }
  return least;
}

}  // namespace

RingPort::RingPort(std::string name, const GPUPort::Config& config, const GpuPorts* user,
                   std::vector<GPUPort*> elements)
    : name(std::move(name)),
      config(without_port(config)),
      device(config.soft_nic == nullptr ? "" : config.soft_nic->device),
      elements(std::move(elements)),
      user(user) {
  if (config.is_nic()) nic = std::make_unique<SoftNicPort>(config);
}

std::string RingPort::difference(const GPUPort::Config& next, bool transmits) const {
  const memif::PortConfig &mine = config.memif, &its = next.memif;
  const auto is = [](const char* argument, auto value) {
    return std::string("its ") + argument + " is " + std::to_string(value);
  };
  if (next.is_nic() != (nic != nullptr)) return nic ? "it is a soft NIC" : "it is a memif";
  if (nic && path_of(next.nic_socket) != path_of(config.nic_socket))
    return config.nic_socket.empty() ? "it has no NIC_SOCKET" : "its NIC_SOCKET is " + config.nic_socket;
  // What stands behind the first comma dpdk::PortChange compares.
  if (next.soft_nic != nullptr && dpdk_name(next.soft_nic->device) != dpdk_name(device))
    return "its SOFTNIC is " + device;
  if (!nic && path_of(mine.socket) != path_of(its.socket)) return "its SOCKET is " + mine.socket;
  if (mine.role != its.role) return std::string("its ROLE is ") + (is_client() ? "client" : "server");
  if (mine.interface.id != its.interface.id) return is("ID", mine.interface.id);
  if (mine.interface.secret != its.interface.secret) return "its SECRET is another one";
  if (mine.interface.receiving != its.interface.receiving) return is("QUEUES", mine.interface.receiving);
  if (transmits && mine.interface.transmitting != its.interface.transmitting)
    return format("it transmits by %d rings, one for each ring whose packets leave by it, and they would be %d",
                  mine.interface.transmitting, its.interface.transmitting);
  if (mine.interface.log2_size != its.interface.log2_size) return is("NDESC", size());
  if (config.buffer_bytes != next.buffer_bytes) return is("BUFFER", config.buffer_bytes);
  return "";
}

bool RingPort::shares_place(const GPUPort::Config& other) const {
  if (!config.nic_socket.empty()) return path_of(other.nic_socket) == path_of(config.nic_socket);
  if (nic) return other.soft_nic != nullptr && dpdk_name(other.soft_nic->device) == dpdk_name(device);
  return !other.is_nic() && !is_client() && other.memif.role == memif::Role::server &&
         path_of(other.memif.socket) == path_of(config.memif.socket);
}

void RingPort::place(Direction direction, gpu::Device& memory) {
  Rings& its = directions[direction];
  its.memory = &memory;
  if (!is_client() || its.table != gpu::TableId::none) return;
  const uint32_t first = first_buffer + (direction == kReceive ? 0 : queues(kReceive) * size());
  std::vector<uint32_t> offsets(queues(direction) * size());
  for (uint32_t i = 0; i < offsets.size(); ++i) offsets[i] = (first + i) * buffers->stride;
  its.table = memory.add_table(std::as_bytes(std::span(offsets)));
}

void RingPort::begin_rings() {
  for (const Direction direction : {kReceive, kTransmit}) {
    directions[direction].positions.assign(queues(direction), {0, 0});
    directions[direction].fresh = true;
  }
  ++connections;
  const memif::ServerSession* const session = nic ? nullptr : memif->server_session();
  if (session == nullptr) return;
  for (const memif::Region& region : session->regions()) peer_memory.push_back(memory_of(region));
  peer_capacity = smallest_buffer(*session);
}

void RingPort::tell_elements() {
  const bool connected = is_up() && number == peer_number();
  for (GPUPort* element : elements) {
    element->connected = connected && (element->receives() || takes_packets());
    element->connections = connections;
  }
}

void RingPort::look_for_buffers() {
  if (nic || is_client() || has_buffers || memif->session() == nullptr) return;
  has_buffers = std::ranges::any_of(memif->session()->transmitting(), [](const memif::SharedRing& shared) {
    return __atomic_load_n(&shared.ring->head, __ATOMIC_RELAXED) != 0;
  });
}

gpu::RingEnd RingPort::ring_end(Direction direction, uint32_t queue) const {
  const Rings& its = directions[direction];
  gpu::RingEnd end{};
  if (nic) end = nic->ring_end(direction, queue);
  end.position = direction == kReceive ? its.positions[queue].rx_position : its.positions[queue].tx_position;
  end.fresh = its.fresh;
  if (nic) return end;
  const memif::Session& session = *memif->session();
  const auto& shared = (direction == kReceive ? session.receiving() : session.transmitting())[queue];
  end.ring = shared.ring;
  end.size = 1u << shared.log2_size;
  end.owner = is_client();
  end.capacity = config.buffer_bytes;
  if (end.owner) {
    end.buffers = static_cast<uint32_t*>(its.memory->address(its.table)) + size_t{queue} * end.size;
    end.headroom = buffers->headroom;
    end.region = memif::ClientSession::kBufferRegion;
    end.memory[0] = buffers->memory();
    return end;
  }
  end.capacity = direction == kReceive ? UINT16_MAX : peer_capacity;
  end.region_count = static_cast<uint16_t>(peer_memory.size());
  std::copy(peer_memory.begin(), peer_memory.end(), end.memory);
  return end;
}

void RingPort::serve() { remote() ? remote()->serve() : memif->serve(); }

int RingPort::descriptor() const { return remote() ? remote()->descriptor() : memif ? memif->descriptor() : -1; }

void RingPort::disconnect(const std::string& reason) { remote() ? remote()->disconnect() : memif->disconnect(reason); }

bool RingPort::may_say() const {
  return said == std::chrono::steady_clock::time_point{} ||
         std::chrono::steady_clock::now() - said >= std::chrono::seconds(1);
}

void RingPort::say(const std::string& what) {
  if (!may_say()) {
    ++unsaid;
    return;
  }
  std::string text;
  for (const char c : what) text += c >= ' ' && c <= '~' ? std::string(1, c) : format("\\%03o", c & 0xff);
  if (unsaid > 0) text += format(" (%ju messages before this one were left out)", uintmax_t{unsaid});
  std::fprintf(stderr, "heddle: GPU port %s: %s\n", name.c_str(), text.c_str());
  said = std::chrono::steady_clock::now(), unsaid = 0;
}

std::string RingPort::refusal() const {
  if (remote() != nullptr) return remote()->problem();
  return memif->refused() && unreachable().empty() ? memif->problem() : "";
}

void RingPort::forget_nic(PortMemory& memory) {
  for (GPUPort* element : elements) element->connected = false;
  nic->forget(memory);
  if (number != peer_number() || directions[kReceive].positions.empty()) return;  // its rings have not begun
  for (const Direction direction : {kReceive, kTransmit}) {
    std::vector<uint32_t> positions;
    for (const gpu::RingStop& stop : directions[direction].positions)
      positions.push_back(direction == kReceive ? stop.rx_position : stop.tx_position);
    try {
      (direction == kReceive ? losses->unprocessed : losses->unsent) += nic->left(direction, positions);
    } catch (const Error&) {
      // A device that has failed has nothing any more.
    }
    directions[direction].positions.clear();
  }
}

/** Indices count to 65,536, and what the peer has made of its own is no more than a ring holds. */
void RingPort::count_left(const memif::Session& session) const {
  const Rings &in = directions[kReceive], &out = directions[kTransmit];
  if (number != peer_number() || in.positions.empty()) return;  // its rings have not begun
  const auto load = [](const uint16_t& index) { return __atomic_load_n(&index, __ATOMIC_ACQUIRE); };
  const auto within = [](uint32_t distance, const memif::SharedRing& shared) -> uint64_t {
    return std::min(distance & 0xffff, 1u << shared.log2_size);
  };
  for (size_t i = 0; i < session.receiving().size(); ++i) {
    const memif::SharedRing& shared = session.receiving()[i];
    const uint32_t filled = load(is_client() ? shared.ring->tail : shared.ring->head);
    losses->unprocessed += within(filled - in.positions[i].rx_position, shared);
  }
  for (size_t i = 0; i < session.transmitting().size(); ++i) {
    const memif::SharedRing& shared = session.transmitting()[i];
    // A client's peer says up to where it has read, a server's up to where it has given buffers: a ring's size ahead.
    const uint32_t read = is_client() ? load(shared.ring->tail) : load(shared.ring->head) - (1u << shared.log2_size);
    losses->unsent += within(out.positions[i].tx_position - read, shared);
  }
}

void RingPort::forget_peer(PortMemory& memory, memif::Session& session) {
  for (GPUPort* element : elements) element->connected = false;
  count_left(session);
  has_buffers = false;
  peer_memory.clear();
  auto* server = dynamic_cast<memif::ServerSession*>(&session);
  if (server == nullptr) return;
  for (memif::Region& region : server->take_regions()) {
    auto taken = std::make_shared<memif::Region>(std::move(region));
    memory.keep(memory_of(*taken), taken);
  }
}

void RingPort::close(PortMemory& memory, const std::string& reason) {
  if (nic) nic->close(memory);
  if (memif) memif->disconnect(reason);
  memif.reset();
  for (Rings& its : directions)
    if (its.memory != nullptr && its.table != gpu::TableId::none) try {
        its.memory->remove_table(std::exchange(its.table, gpu::TableId::none));
      } catch (const Error&) {
        // A device that has failed has nothing any more.
      }
  if (rings.base() != nullptr) {
    auto taken = std::make_shared<memif::Region>(std::move(rings));
    memory.keep(memory_of(*taken), taken);
  }
  if (buffers != nullptr && buffers.use_count() == 1) {
    const gpu::SharedMemory shared = buffers->memory();
    memory.keep(shared, std::move(buffers));
  }
  buffers = nullptr;
}

}  // namespace heddle
