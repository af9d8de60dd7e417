#pragma once

#include <memory>
#include <vector>

#include "core/huge_pages.h"
#include "elements/endpoints/gpu_port.h"
#include "gpu/device.h"

namespace heddle {

/** A GPU port whose NIC this program plays: rings and buffers in GPU memory, doorbells in host memory, and a DPDK port
 *  behind. */
class SoftNicPort {
 public:
  enum Direction : size_t { kReceive, kTransmit };
  explicit SoftNicPort(const GPUPort::Config& config);

  /** Memory of a device that buffers lie in. */
  struct Pool {
    gpu::SharedMemory memory;
    uint32_t stride;    ///< bytes of a buffer, headroom included
    uint32_t headroom;  ///< bytes
  };
  /** Makes the rings of one direction on `device`, with the buffers of the pool from number `first` on. Before
   *  Device::start(). */
  void add(gpu::Device& device, Direction direction, const Pool& pool, uint32_t first);
  uint32_t buffers() const { return queues_ * size_; }  ///< of each direction
  uint32_t buffer_bytes() const { return buffer_bytes_; }

  /** How the GPU sees a ring, at its beginning. */
  gpu::RingEnd ring_end(Direction direction, uint32_t queue) const;

  /** From now on frames move. The port runs. Counts outlive the object. */
  void start(softnic::Counts& counts);
  /** Receives no more, and returns when the GPU has taken what has come. */
  void stop_receiving();
  /** Ends it when what is to be sent is sent. The GPU drives the rings no more. */
  void stop();

 private:
  class Engine;
  struct Rings {
    std::vector<softnic::Ring> rings;  ///< by queue
    std::vector<uint32_t*> buffers;    ///< the same; device memory
    std::vector<std::unique_ptr<softnic::Dma>> engines;
    HugePages host;  ///< [queues], softnic::Host
    Pool pool{};
  };

  const dpdk::Port& port_;
  const uint32_t queues_, size_, buffer_bytes_;
  Rings directions_[2];
  std::vector<std::unique_ptr<softnic::Receiver>> receivers_;
  std::vector<std::unique_ptr<softnic::Transmitter>> transmitters_;
};

}  // namespace heddle
