#include "engine/soft_nic_port.h"

#include <algorithm>

#include "core/error.h"

namespace heddle {

namespace {

void remove(gpu::Device& device, gpu::StateId state) {
  try {
    device.remove_state(state);
  } catch (const Error&) {
    // A device that has failed has nothing any more.
  }
}

}  // namespace

SoftNicPort::Pool::Pool(gpu::Device& device, uint64_t bytes, uint32_t stride, uint32_t headroom, bool shared)
    : stride(stride),
      headroom(headroom),
      device_(device),
      id_(shared ? device.add_shared_state(bytes) : device.add_state(bytes)),
      file_(shared ? device.file(id_) : -1) {
  memory_ = {static_cast<uint8_t*>(device.address(id_)), bytes};
}

SoftNicPort::Pool::~Pool() { remove(device_, id_); }

SoftNicPort::SoftNicPort(const GPUPort::Config& config)
    : port_(config.soft_nic),
      queues_{static_cast<uint32_t>(config.memif.interface.receiving),
              static_cast<uint32_t>(config.memif.interface.transmitting)},
      size_(1u << config.memif.interface.log2_size),
      buffer_bytes_(config.buffer_bytes),
      sending_(queues_[kReceive]) {
  if (port_ == nullptr) remote_ = std::make_unique<softnic::Remote>(config.nic_socket);
}

SoftNicPort::~SoftNicPort() = default;

void SoftNicPort::add(gpu::Device& own, PortMemory& memory, Direction direction, std::shared_ptr<const Pool> pool,
                      uint32_t first) {
  Rings& of = directions_[direction];
  of.own = &own;
  const auto table = [&](const auto& list) {
    of.tables.push_back(own.add_table(std::as_bytes(std::span(list))));
    return own.address(of.tables.back());
  };
  for (uint32_t queue = 0; queue < queues_[direction]; ++queue) {
    std::vector<uint32_t> offsets(size_);
    for (uint32_t i = 0; i < size_; ++i) offsets[i] = (first + queue * size_ + i) * pool->stride;
    of.buffers.push_back(static_cast<uint32_t*>(table(offsets)));
  }
  of.pool = std::move(pool);
  of.descriptors = remote_ ? own.add_shared_state(rings_bytes(direction)) : own.add_state(rings_bytes(direction));
  clear_rings(direction);
  if (remote_) return;
  const size_t host_bytes = queues_[direction] * sizeof(softnic::Host),
               bytes = host_bytes + queues_[direction] * sizeof(softnic::Register);
  of.host = map_huge_pages(bytes);
  memory.share({reinterpret_cast<uint8_t*>(of.host.get()), bytes});
  of.registers = reinterpret_cast<softnic::Register*>(of.host.get() + host_bytes);
  const gpu::SharedMemory& buffers = of.pool->memory();
  for (uint32_t queue = 0; queue < queues_[direction]; ++queue) {
    of.engines.push_back(std::make_unique<DmaEngine>());
    of.rings.push_back({descriptors(direction, queue),
                        size_,
                        {bus(direction), buffers.base, buffers.bytes},
                        of.registers + queue,
                        reinterpret_cast<softnic::Host*>(of.host.get()) + queue,
                        of.engines.back().get()});
  }
}

/** A transmitting ring begins as if the NIC had fetched all of its frames. */
void SoftNicPort::clear_rings(Direction direction) {
  const Rings& of = directions_[direction];
  const std::vector<ixgbe::Descriptor> begin(buffers(direction),
                                             direction == kTransmit ? ixgbe::fetched() : ixgbe::empty(0));
  of.own->write_state(of.descriptors, 0, std::as_bytes(std::span(begin)));
}

ixgbe::Descriptor* SoftNicPort::descriptors(Direction direction, uint32_t queue) const {
  const Rings& of = directions_[direction];
  return static_cast<ixgbe::Descriptor*>(of.own->address(of.descriptors)) + size_t{queue} * size_;
}

/** Another process has the memory elsewhere. */
uint64_t SoftNicPort::bus(Direction direction) const {
  return remote_ ? 0 : reinterpret_cast<uint64_t>(directions_[direction].pool->memory().base);
}

void SoftNicPort::add_engines(gpu::Device& device, Direction direction) {
  for (auto& engine : directions_[direction].engines) engine->add_to(device);
}

gpu::RingEnd SoftNicPort::ring_end(Direction direction, uint32_t queue) const {
  const Rings& of = directions_[direction];
  gpu::RingEnd end{};
  end.descriptors = descriptors(direction, queue), end.tail = &of.registers[queue].tail;
  end.size = size_, end.owner = true;
  end.buffers = of.buffers[queue];
  end.headroom = of.pool->headroom, end.capacity = buffer_bytes_;
  end.memory[0] = of.pool->memory();
  end.bus = bus(direction);
  return end;
}

template <class Action>
void SoftNicPort::for_all_movers(const Action& action) {
  for (auto& receiver : receivers_) action(*receiver);
  for (auto& transmitter : transmitters_) action(*transmitter);
}

void SoftNicPort::start(softnic::Counts& counts) {
  if (remote_) return offer();
  const Rings &in = directions_[kReceive], &out = directions_[kTransmit];
  for (const Rings* of : {&in, &out})
    for (auto& engine : of->engines) engine->move();
  for (uint16_t queue = 0; queue < in.rings.size(); ++queue)
    receivers_.push_back(std::make_unique<softnic::Receiver>(
        in.rings[queue], *port_, queue, static_cast<uint16_t>(queues_[kReceive]), buffer_bytes_, counts));
  for (size_t ring = 0; ring < out.rings.size(); ++ring) {
    const size_t queue = ring % sending_.size();
    transmitters_.push_back(std::make_unique<softnic::Transmitter>(
        out.rings[ring], *port_, static_cast<uint16_t>(queue), sending_[queue], *dpdk::packet_pool(), counts));
  }
  for_all_movers([](softnic::Mover& mover) { mover.start(); });
}

void SoftNicPort::offer() {
  softnic::Message setup{.type = softnic::Message::Type::setup};
  setup.queues = queues_[kReceive], setup.descriptors = size_, setup.buffer_bytes = buffer_bytes_;
  std::vector<int> files;
  for (const Direction direction : {kReceive, kTransmit}) {
    const Rings& of = directions_[direction];
    if (of.own == nullptr) continue;
    setup.gpu.set(gpu::place_of(of.own->info()));
    setup.directions |= 1u << direction;
    setup.pool_bytes[direction] = of.pool->memory().bytes, setup.bus[direction] = bus(direction);
    files.push_back(of.own->file(of.descriptors));
    files.push_back(of.pool->file());
  }
  remote_->offer(setup, files);
}

void SoftNicPort::connect(PortMemory& memory) {
  const memif::Region& shared = remote_->registers();
  memory.share({reinterpret_cast<uint8_t*>(shared.base()), shared.bytes()});
  for (const Direction direction : {kReceive, kTransmit}) {
    Rings& of = directions_[direction];
    if (of.own == nullptr) continue;
    clear_rings(direction);
    of.registers = reinterpret_cast<softnic::Register*>(shared.base()) + direction * queues_[kReceive];
  }
}

void SoftNicPort::forget(PortMemory& memory) {
  auto taken = std::make_shared<memif::Region>(remote_->take_registers());
  memory.keep({reinterpret_cast<uint8_t*>(taken->base()), taken->bytes()}, taken);
  for (Rings& of : directions_) of.registers = nullptr;
}

uint64_t SoftNicPort::left(Direction direction, const std::vector<uint32_t>& positions) const {
  const Rings& of = directions_[direction];
  if (of.own == nullptr) return 0;
  std::vector<ixgbe::Descriptor> all(buffers(direction));
  of.own->read_state(of.descriptors, 0, std::as_writable_bytes(std::span(all)));
  uint64_t sum = 0;
  for (uint32_t queue = 0; queue < queues_[direction]; ++queue)
    for (uint32_t i = 0; i + 1 < size_; ++i) {
      // The NIC has had size - 1 descriptors: those behind the last that was taken, or before the next to be sent.
      const uint32_t at = positions[queue] + (direction == kReceive ? i : ~i);
      const uint32_t(&word)[4] = all[size_t{queue} * size_ + (at & (size_ - 1))].word;
      sum += direction == kReceive ? word[2] & ixgbe::kDone : ~word[3] & ixgbe::kDone;
    }
  return sum;
}

void SoftNicPort::pause() {
  for_all_movers([](softnic::Mover& mover) { mover.pause(); });
  for (const Rings& of : directions_)
    for (auto& engine : of.engines) engine->finish();
}

void SoftNicPort::go_on() {
  for_all_movers([](softnic::Mover& mover) { mover.go_on(); });
}

void SoftNicPort::take_over(const dpdk::Port* port) {
  if (remote_) return;
  port_ = port;
  for (const Rings& of : directions_)
    for (auto& engine : of.engines) engine->move();
  for_all_movers([&](softnic::Mover& mover) { mover.use(*port); });
  go_on();
}

void SoftNicPort::stop_receiving(bool served) {
  if (remote_ && served) remote_->close();
  for (auto& receiver : receivers_) served ? receiver->close() : receiver->give_up();
  for (auto& receiver : receivers_) receiver->stop();
}

void SoftNicPort::stop() {
  receivers_.clear();
  transmitters_.clear();
}

void SoftNicPort::close(PortMemory& memory) {
  if (remote_) {
    remote_->on_down = [&] { forget(memory); };
    remote_->disconnect();
  }
  for (auto& receiver : receivers_) receiver->give_up();
  stop();
  for (const Direction direction : {kReceive, kTransmit}) {
    Rings& of = directions_[direction];
    if (of.own == nullptr) continue;
    if (of.host) {
      const size_t bytes = queues_[direction] * (sizeof(softnic::Host) + sizeof(softnic::Register));
      const gpu::SharedMemory host{reinterpret_cast<uint8_t*>(of.host.get()), bytes};
      memory.keep(host, std::make_shared<HugePages>(std::move(of.host)));
    }
    remove(*of.own, of.descriptors);
    for (const gpu::TableId table : of.tables) try {
        of.own->remove_table(table);
      } catch (const Error&) {
        // A device that has failed has nothing any more.
      }
    of = {};
  }
}

}  // namespace heddle
