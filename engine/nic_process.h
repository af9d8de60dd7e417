#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/huge_pages.h"
#include "engine/dma_engine.h"
#include "io/memif/region.h"
#include "io/softnic/link.h"
#include "io/softnic/soft_nic.h"

namespace heddle {

/** A soft NIC as a process of its own (`heddle softnic`): listens for the GPU port of another program, which hands over
 *  rings and buffers in GPU memory, and moves frames between them and a DPDK port. Programs may come and go, one at a
 *  time. */
class NicProcess {
 public:
  struct Config {
    std::string socket, port;            ///< path, and a DPDK device
    std::string device = "gpu";          ///< whose kernels play the DMA engine: "gpu0", "simt"
    uint32_t queues = 1;                 ///< ring pairs
    uint32_t buffer_bytes = 2048;        ///< of the program's buffers
    std::vector<std::string> dpdk_args;  ///< passed on to EAL
  };
  /** Starts the port, and listens. Throws Error. */
  explicit NicProcess(const Config& config);
  ~NicProcess();

  /** Serves programs until `is_over()`, which it asks several times a second. Throws Error if the GPU fails. */
  void run(const std::function<bool()>& is_over);
  /** Ends the connection, if there is one. What is on the transmitting rings is sent, for two seconds at most. */
  void stop();
  const softnic::Counts& counts() const { return counts_; }
  uint64_t connections() const { return connections_; }  ///< programs that have come
  /** What became of the port that its user should know, "" = nothing. */
  std::string problem() const { return port_->problem(); }

 private:
  class Session;
  void take_callers();
  void serve(std::unique_ptr<Session>& session);

  const Config config_;
  softnic::Counts counts_;
  dpdk::Port* port_;
  HugePages host_;  ///< [2][queues], softnic::Host
  std::unique_ptr<gpu::Device> device_;
  std::vector<std::unique_ptr<DmaEngine>> engines_;  ///< [2][queues]
  std::unique_ptr<PacketPool> packets_;
  memif::File listener_;
  SocketFile listener_file_;  // removed first
  std::unique_ptr<Session> session_;
  uint64_t connections_ = 0;
};

}  // namespace heddle
