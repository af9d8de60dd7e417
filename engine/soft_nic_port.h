#pragma once

#include <memory>
#include <vector>

#include "core/huge_pages.h"
#include "elements/endpoints/gpu_port.h"
#include "engine/port_memory.h"
#include "gpu/device.h"

namespace heddle {

/** A GPU port whose NIC this program plays: rings and buffers in GPU memory, doorbells in host memory, and a DPDK port
 *  behind. */
class SoftNicPort {
 public:
  enum Direction : size_t { kReceive, kTransmit };
  explicit SoftNicPort(const GPUPort::Config& config);
  ~SoftNicPort();

  /** Memory of a device that buffers lie in, of the rings that packets come from and of those that they go to. */
  class Pool {
   public:
    Pool(gpu::Device& device, uint64_t bytes, uint32_t stride, uint32_t headroom);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    const uint32_t stride;    ///< bytes of a buffer, headroom included
    const uint32_t headroom;  ///< bytes
    const gpu::SharedMemory& memory() const { return memory_; }

   private:
    gpu::Device& device_;
    gpu::StateId id_;
    gpu::SharedMemory memory_;
  };
  /** Makes the rings of one direction in `own`, a device of the ports', with the buffers of the pool from number
   *  `first` on. `memory` is what `own` is of. */
  void add(gpu::Device& own, PortMemory& memory, Direction direction, std::shared_ptr<const Pool> pool, uint32_t first);
  /** Makes room on `device` for the DMA engines of one direction, which work there from start() or take_over() on.
   *  Before Device::start(). */
  void add_engines(gpu::Device& device, Direction direction);
  /** What the rings of one direction have their buffers in; null: nothing drives them. */
  const Pool* pool(Direction direction) const { return directions_[direction].pool.get(); }
  uint32_t buffers() const { return queues_ * size_; }  ///< of each direction
  uint32_t buffer_bytes() const { return buffer_bytes_; }

  /** How the GPU sees a ring, at its beginning. */
  gpu::RingEnd ring_end(Direction direction, uint32_t queue) const;

  /** From now on frames move. The port runs. Counts outlive the object. */
  void start(softnic::Counts& counts);
  /** No frame moves, and no DMA engine works, until go_on() or take_over(). */
  void pause();
  void go_on();
  /** The same, with the engines that add_engines() has made since, and with `port` in the place of the same port's
   *  former object. */
  void take_over(const dpdk::Port& port);
  /** Receives no more, and returns when the GPU has taken what has come. */
  void stop_receiving();
  /** Ends it when what is to be sent is sent. The GPU drives the rings no more. */
  void stop();
  /** stop(), if that has not been called: of what is in the receive ring nobody takes any more. Then gives back what it
   *  has of GPUs. */
  void close(PortMemory& memory);

 private:
  class Engine;
  struct Rings {
    std::vector<softnic::Ring> rings;  ///< by queue
    std::vector<uint32_t*> buffers;    ///< the same; device memory
    std::vector<std::unique_ptr<Engine>> engines;
    gpu::Device* own = nullptr;  ///< that tables are of
    std::vector<gpu::TableId> tables;
    HugePages host;  ///< [queues], softnic::Host
    std::shared_ptr<const Pool> pool;
  };
  template <class Action>
  void for_all_movers(const Action& action);

  const dpdk::Port* port_;
  const uint32_t queues_, size_, buffer_bytes_;
  Rings directions_[2];
  std::vector<std::unique_ptr<softnic::Receiver>> receivers_;
  std::vector<std::unique_ptr<softnic::Transmitter>> transmitters_;
};

}  // namespace heddle
