#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "elements/endpoints/gpu_port.h"
#include "engine/gpu_segment.h"
#include "engine/plan.h"
#include "engine/soft_nic_port.h"
#include "io/memif/interrupts.h"

namespace heddle {

/** The ports of a chain by name, with the arguments that one of their elements has. */
std::map<std::string, GPUPort::Config> gpu_ports(const Router& router);
/** The arguments of the port that a segment's packets come from; nothing if they are missing. */
std::optional<GPUPort::Config> receiving_port(const Router& router, const Segment& segment);
/** Whether what a port receives may be gathered: it lies in buffers of its own in host memory, those of a memif's
 *  client, and, by WARP_BATCH and NDESC, several multiprocessors serve a ring pair. */
bool may_gather(const GPUPort::Config& config);

/** The ports whose rings GPUs drive: their shared memory, their peers, and the kernels that take packets from one
 *  port's rings through a segment to another's. A kernel runs while both ports have a peer. A thread of its own waits
 *  for peers, and wakes those that wait for interrupts; it has nothing else to do with packets. */
class GpuPorts {
 public:
  GpuPorts(const Router& router, const Plan& plan);
  ~GpuPorts();
  bool any() const { return !ports_.empty(); }

  /** Makes the memory of the ports and room for the rings of `segment`. Before Device::start(). */
  void add(const Segment& plan, GpuSegment& segment);
  /** Opens the ports. Throws Error. */
  void start();
  /** Ends the kernels and the connections. */
  void stop();
  /** Kernels that run take up the newest programs of their segments: when it returns, no tile runs an older one. */
  void renew();

 private:
  using Direction = SoftNicPort::Direction;
  static constexpr Direction kReceive = SoftNicPort::kReceive, kTransmit = SoftNicPort::kTransmit;
  /** The rings of a port in one direction, as a GPU knows them. */
  struct Rings {
    gpu::TableId buffers = gpu::TableId::none;  ///< [queues][size], of a client
    std::vector<gpu::RingStop> positions;       ///< by queue, one of the two counts
    bool fresh = true;
  };
  struct Port {
    std::string name;
    GPUPort::Config config;
    memif::Region rings;  ///< a client's
    std::unique_ptr<memif::Port> memif;
    std::string told;                  ///< why memif's peers have not been connected to, as last printed
    std::unique_ptr<SoftNicPort> nic;  ///< in memif's place; its peer is always there
    memif::Interrupts interrupts;      ///< to its peer, of the connection that directions are about
    Rings directions[2];
    uint32_t first_buffer = 0;  ///< of a client, in the buffers
    uint64_t number = 0;        ///< of the connection that directions are about
    std::vector<GPUPort*> elements;
    std::vector<gpu::SharedMemory> peer_memory;  ///< a server's, of the connection
    uint32_t peer_capacity = 0;                  ///< the same: bytes that its peer's buffers hold
    bool is_up() const { return nic != nullptr || memif->session() != nullptr; }
    bool is_client() const { return nic == nullptr && config.memif.role == memif::Role::client; }
    uint32_t size() const { return 1u << config.memif.interface.log2_size; }
    uint32_t queues() const { return static_cast<uint32_t>(config.memif.interface.queues); }
  };
  /** What spread segments have on a device. */
  struct Spread {
    int pairs = 0;      ///< of rings
    bool alone = true;  ///< no other segment runs there, and none with a WARP_BATCH
  };
  /** A segment between two ports. */
  struct Way {
    GpuSegment* segment;
    Port* from;
    Port* to;
    gpu::RingsId rings;
    bool running = false;
  };

  Port& port_of(int node) const;
  void make_memory();
  void add_soft_nics(Port& from, Port& to, gpu::Device& device, uint32_t appends);
  /** Warps for a ring pair of `from`. */
  int workers(const Segment& plan, const Port& from, const gpu::DeviceInfo& device) const;
  gpu::TableId add_buffers(gpu::Device& device, const Port& port, Direction direction) const;
  void serve();
  void look();
  /** Interrupts those that wait for packets; returns when to look again, at the latest. */
  std::chrono::microseconds wake_peers();
  void begin(Way& way);
  void end(Way& way);
  /** Ends the kernels that run, and begins them again: meanwhile memory can be given back. */
  void begin_anew();
  void peer_has_gone(Port& port, memif::Session& session);
  void new_connection(Port& port);
  void begin_rings(Port& port);
  void take_memory(Port& port, const memif::ServerSession& session);
  /** Gives back what it can of former peers' memory. */
  void give_back();
  /** Whether a device has failed, which ends the program. */
  bool has_failed();
  static uint32_t smallest_buffer(const memif::Session& session);
  gpu::RingEnd ring_end(Port& port, Direction direction, uint32_t queue, gpu::Device& device) const;

  const Router& router_;
  uint32_t headroom_ = 128, stride_ = 0;  ///< of a buffer, bytes
  memif::Region buffers_;                 ///< of all clients
  std::vector<std::unique_ptr<Port>> ports_;
  std::map<int, Spread> spread_;  ///< by device
  std::vector<Way> ways_;
  memif::EventWriter events_;
  std::chrono::microseconds pause_{0};  ///< before peers are woken the next time
  std::vector<memif::Region> kept_;     ///< memory of peers that have gone, which a device has not given back yet
  std::mutex mutex_;                    ///< guards all of it once the thread runs
  std::thread thread_;
  int wake_ = -1;  ///< eventfd
  bool stopping_ = false;
};

}  // namespace heddle
