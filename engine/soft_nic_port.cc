#include "engine/soft_nic_port.h"

#include <algorithm>

#include "core/error.h"

namespace heddle {

/** The DMA engine of a ring. */
class SoftNicPort::Engine final : public softnic::Dma {
 public:
  explicit Engine(gpu::Device& device) : device_(device), id_(device.add_dma()) {}
  void start(const softnic::Transfer& transfer) override {
    try {
      device_.start_dma(id_, transfer);
    } catch (const Error& error) {
      device_.fail(error.what());
      throw;
    }
  }
  bool failed() override { return !device_.failure().empty(); }

 private:
  gpu::Device& device_;
  gpu::DmaId id_;
};

SoftNicPort::SoftNicPort(const GPUPort::Config& config)
    : port_(*config.soft_nic),
      queues_(static_cast<uint32_t>(config.memif.interface.queues)),
      size_(1u << config.memif.interface.log2_size),
      buffer_bytes_(config.buffer_bytes) {}

void SoftNicPort::add(gpu::Device& device, Direction direction, const Pool& pool, uint32_t first) {
  Rings& of = directions_[direction];
  of.pool = pool;
  const size_t bytes = queues_ * sizeof(softnic::Host);
  of.host = map_huge_pages(bytes);
  device.share({reinterpret_cast<uint8_t*>(of.host.get()), bytes});
  // A transmitting ring begins as if the NIC had fetched all of its frames.
  const std::vector<ixgbe::Descriptor> begin(size_, direction == kTransmit ? ixgbe::fetched() : ixgbe::empty(0));
  for (uint32_t queue = 0; queue < queues_; ++queue) {
    std::vector<uint32_t> offsets(size_);
    for (uint32_t i = 0; i < size_; ++i) offsets[i] = (first + queue * size_ + i) * pool.stride;
    const auto table = [&](const auto& list) {
      return device.address(device.add_table(std::as_bytes(std::span(list))));
    };
    of.engines.push_back(std::make_unique<Engine>(device));
    of.buffers.push_back(static_cast<uint32_t*>(table(offsets)));
    of.rings.push_back({static_cast<ixgbe::Descriptor*>(table(begin)), size_,
                        reinterpret_cast<softnic::Host*>(of.host.get()) + queue, of.engines.back().get()});
  }
}

gpu::RingEnd SoftNicPort::ring_end(Direction direction, uint32_t queue) const {
  const Rings& of = directions_[direction];
  const softnic::Ring& ring = of.rings[queue];
  gpu::RingEnd end{};
  end.descriptors = ring.descriptors, end.tail = &ring.host->tail;
  end.size = size_, end.owner = true;
  end.buffers = of.buffers[queue];
  end.headroom = of.pool.headroom, end.capacity = buffer_bytes_;
  end.memory[0] = of.pool.memory;
  end.bus = reinterpret_cast<uint64_t>(of.pool.memory.base);
  return end;
}

void SoftNicPort::start(softnic::Counts& counts) {
  const Rings &in = directions_[kReceive], &out = directions_[kTransmit];
  for (uint16_t queue = 0; queue < in.rings.size(); ++queue)
    receivers_.push_back(std::make_unique<softnic::Receiver>(in.rings[queue], port_, queue,
                                                             static_cast<uint16_t>(queues_), buffer_bytes_, counts));
  for (uint16_t queue = 0; queue < out.rings.size(); ++queue)
    transmitters_.push_back(
        std::make_unique<softnic::Transmitter>(out.rings[queue], port_, queue, *dpdk::packet_pool(), counts));
  for (auto& receiver : receivers_) receiver->start();
  for (auto& transmitter : transmitters_) transmitter->start();
}

void SoftNicPort::stop_receiving() {
  for (auto& receiver : receivers_) receiver->close();
  for (auto& receiver : receivers_) receiver->stop();
}

void SoftNicPort::stop() {
  receivers_.clear();
  transmitters_.clear();
}

}  // namespace heddle
