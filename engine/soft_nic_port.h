#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/huge_pages.h"
#include "elements/endpoints/gpu_port.h"
#include "engine/dma_engine.h"
#include "engine/port_memory.h"
#include "gpu/device.h"
#include "io/softnic/remote.h"

namespace heddle {

/** A GPU port with a soft NIC: rings and buffers in GPU memory, doorbells in host memory. This program plays the NIC,
 *  with a DPDK port behind, or another one does (`heddle softnic`), which comes and goes. */
class SoftNicPort {
 public:
  enum Direction : size_t { kReceive, kTransmit };
  explicit SoftNicPort(const GPUPort::Config& config);
  ~SoftNicPort();

  /** Memory of a device that buffers lie in, of the rings that packets come from and of those that they go to. */
  class Pool {
   public:
    /** `shared`: other programs can open it. */
    Pool(gpu::Device& device, uint64_t bytes, uint32_t stride, uint32_t headroom, bool shared);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    const uint32_t stride;    ///< bytes of a buffer, headroom included
    const uint32_t headroom;  ///< bytes
    const gpu::SharedMemory& memory() const { return memory_; }
    int file() const { return file_; }  ///< if it is shared

   private:
    gpu::Device& device_;
    gpu::StateId id_;
    int file_;
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
  uint32_t buffers(Direction direction) const { return queues_[direction] * size_; }
  uint32_t buffer_bytes() const { return buffer_bytes_; }
  /** The process that plays the NIC; null: this one does. */
  softnic::Remote* remote() const { return remote_.get(); }

  /** How the GPU sees a ring, at its beginning. */
  gpu::RingEnd ring_end(Direction direction, uint32_t queue) const;

  // Of a NIC in another process.
  /** It has come: its rings begin. `memory` as of add(). Throws Error. */
  void connect(PortMemory& memory);
  /** It goes: its doorbells are given back when no kernel is in the way. */
  void forget(PortMemory& memory);
  /** Frames that lie in the rings of one direction, and that nobody has taken; `positions`: the GPU's, by queue. */
  uint64_t left(Direction direction, const std::vector<uint32_t>& positions) const;

  /** From now on frames move; with a NIC in another process, when it has come. The port runs. Counts outlive the
   *  object. */
  void start(softnic::Counts& counts);
  /** No frame moves, and no DMA engine works, until go_on() or take_over(). */
  void pause();
  void go_on();
  /** The same, with the engines that add_engines() has made since, and with `port` in the place of the same port's
   *  former object. */
  void take_over(const dpdk::Port* port);
  /** Receives no more, and returns when the GPU has taken what has come, or, if no kernel is there to (not `served`),
   *  at once. */
  void stop_receiving(bool served);
  /** Ends it when what is to be sent is sent. The GPU drives the rings no more. */
  void stop();
  /** stop(), if that has not been called: of what is in the receive ring nobody takes any more. Then gives back what it
   *  has of GPUs. */
  void close(PortMemory& memory);

 private:
  struct Rings {
    gpu::StateId descriptors = gpu::StateId::none;  ///< [rings][size]
    std::vector<uint32_t*> buffers;                 ///< by ring; device memory
    softnic::Register* registers = nullptr;         ///< the same; null: the NIC is not there
    gpu::Device* own = nullptr;                     ///< that tables and descriptors are of
    std::vector<gpu::TableId> tables;
    std::shared_ptr<const Pool> pool;
    // If this program plays the NIC.
    std::vector<softnic::Ring> rings;
    std::vector<std::unique_ptr<DmaEngine>> engines;
    HugePages host;  ///< [rings], softnic::Host and then softnic::Register
  };
  size_t rings_bytes(Direction direction) const { return size_t{buffers(direction)} * sizeof(ixgbe::Descriptor); }
  void clear_rings(Direction direction);
  ixgbe::Descriptor* descriptors(Direction direction, uint32_t queue) const;
  uint64_t bus(Direction direction) const;
  void offer();
  template <class Action>
  void for_all_movers(const Action& action);

  const dpdk::Port* port_;
  const uint32_t queues_[2], size_, buffer_bytes_;  ///< rings by direction
  Rings directions_[2];
  std::unique_ptr<softnic::Remote> remote_;
  std::vector<std::unique_ptr<softnic::Receiver>> receivers_;
  std::vector<std::mutex> sending_;  ///< by queue of the DPDK port: transmitters may share one
  std::vector<std::unique_ptr<softnic::Transmitter>> transmitters_;
};

}  // namespace heddle
