#include "engine/soft_nic_port.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "core/error.h"

namespace heddle {

/** The DMA engine of a ring. */
class SoftNicPort::Engine final : public softnic::Dma {
 public:
  void start(const softnic::Transfer& transfer) override {
    last_ = transfer;
    try {
      device_->start_dma(id_, transfer);
    } catch (const Error& error) {
      device_->fail(error.what());
      throw;
    }
  }
  bool failed() override { return !device_->failure().empty(); }

  /** Where it is to work next. */
  void add_to(gpu::Device& device) { next_ = &device, next_id_ = device.add_dma(); }
  void move() { device_ = next_, id_ = next_id_; }
  /** Returns when it has done what it was given. */
  void finish() {
    while (last_ && __atomic_load_n(last_->done, __ATOMIC_ACQUIRE) != last_->stamp && !failed())
      std::this_thread::yield();
  }

 private:
  gpu::Device *device_ = nullptr, *next_ = nullptr;
  gpu::DmaId id_ = gpu::DmaId::none, next_id_ = gpu::DmaId::none;
  std::optional<softnic::Transfer> last_;
};

SoftNicPort::Pool::Pool(gpu::Device& device, uint64_t bytes, uint32_t stride, uint32_t headroom)
    : stride(stride), headroom(headroom), device_(device), id_(device.add_state(bytes)) {
  memory_ = {static_cast<uint8_t*>(device.address(id_)), bytes};
}

SoftNicPort::Pool::~Pool() {
  try {
    device_.remove_state(id_);
  } catch (const Error&) {
    // A device that has failed has nothing any more.
  }
}

SoftNicPort::SoftNicPort(const GPUPort::Config& config)
    : port_(config.soft_nic),
      queues_(static_cast<uint32_t>(config.memif.interface.queues)),
      size_(1u << config.memif.interface.log2_size),
      buffer_bytes_(config.buffer_bytes) {}

SoftNicPort::~SoftNicPort() = default;

void SoftNicPort::add(gpu::Device& own, PortMemory& memory, Direction direction, std::shared_ptr<const Pool> pool,
                      uint32_t first) {
  Rings& of = directions_[direction];
  of.own = &own;
  const size_t bytes = queues_ * sizeof(softnic::Host);
  of.host = map_huge_pages(bytes);
  memory.share({reinterpret_cast<uint8_t*>(of.host.get()), bytes});
  // A transmitting ring begins as if the NIC had fetched all of its frames.
  const std::vector<ixgbe::Descriptor> begin(size_, direction == kTransmit ? ixgbe::fetched() : ixgbe::empty(0));
  for (uint32_t queue = 0; queue < queues_; ++queue) {
    std::vector<uint32_t> offsets(size_);
    for (uint32_t i = 0; i < size_; ++i) offsets[i] = (first + queue * size_ + i) * pool->stride;
    const auto table = [&](const auto& list) {
      of.tables.push_back(own.add_table(std::as_bytes(std::span(list))));
      return own.address(of.tables.back());
    };
    of.engines.push_back(std::make_unique<Engine>());
    of.buffers.push_back(static_cast<uint32_t*>(table(offsets)));
    of.rings.push_back({static_cast<ixgbe::Descriptor*>(table(begin)), size_,
                        reinterpret_cast<softnic::Host*>(of.host.get()) + queue, of.engines.back().get()});
  }
  of.pool = std::move(pool);
}

void SoftNicPort::add_engines(gpu::Device& device, Direction direction) {
  for (auto& engine : directions_[direction].engines) engine->add_to(device);
}

gpu::RingEnd SoftNicPort::ring_end(Direction direction, uint32_t queue) const {
  const Rings& of = directions_[direction];
  const softnic::Ring& ring = of.rings[queue];
  gpu::RingEnd end{};
  end.descriptors = ring.descriptors, end.tail = &ring.host->tail;
  end.size = size_, end.owner = true;
  end.buffers = of.buffers[queue];
  end.headroom = of.pool->headroom, end.capacity = buffer_bytes_;
  end.memory[0] = of.pool->memory();
  end.bus = reinterpret_cast<uint64_t>(of.pool->memory().base);
  return end;
}

template <class Action>
void SoftNicPort::for_all_movers(const Action& action) {
  for (auto& receiver : receivers_) action(*receiver);
  for (auto& transmitter : transmitters_) action(*transmitter);
}

void SoftNicPort::start(softnic::Counts& counts) {
  const Rings &in = directions_[kReceive], &out = directions_[kTransmit];
  for (const Rings* of : {&in, &out})
    for (auto& engine : of->engines) engine->move();
  for (uint16_t queue = 0; queue < in.rings.size(); ++queue)
    receivers_.push_back(std::make_unique<softnic::Receiver>(in.rings[queue], *port_, queue,
                                                             static_cast<uint16_t>(queues_), buffer_bytes_, counts));
  for (uint16_t queue = 0; queue < out.rings.size(); ++queue)
    transmitters_.push_back(
        std::make_unique<softnic::Transmitter>(out.rings[queue], *port_, queue, *dpdk::packet_pool(), counts));
  for_all_movers([](softnic::Mover& mover) { mover.start(); });
}

void SoftNicPort::pause() {
  for_all_movers([](softnic::Mover& mover) { mover.pause(); });
  for (const Rings& of : directions_)
    for (auto& engine : of.engines) engine->finish();
}

void SoftNicPort::go_on() {
  for_all_movers([](softnic::Mover& mover) { mover.go_on(); });
}

void SoftNicPort::take_over(const dpdk::Port& port) {
  port_ = &port;
  for (const Rings& of : directions_)
    for (auto& engine : of.engines) engine->move();
  for_all_movers([&](softnic::Mover& mover) { mover.use(port); });
  go_on();
}

void SoftNicPort::stop_receiving() {
  for (auto& receiver : receivers_) receiver->close();
  for (auto& receiver : receivers_) receiver->stop();
}

void SoftNicPort::stop() {
  receivers_.clear();
  transmitters_.clear();
}

void SoftNicPort::close(PortMemory& memory) {
  for (auto& receiver : receivers_) receiver->give_up();
  stop();
  for (Rings& of : directions_) {
    if (of.own == nullptr) continue;
    const gpu::SharedMemory host{reinterpret_cast<uint8_t*>(of.host.get()), queues_ * sizeof(softnic::Host)};
    memory.keep(host, std::make_shared<HugePages>(std::move(of.host)));
    for (const gpu::TableId table : of.tables) try {
        of.own->remove_table(table);
      } catch (const Error&) {
        // A device that has failed has nothing any more.
      }
    of = {};
  }
}

}  // namespace heddle
