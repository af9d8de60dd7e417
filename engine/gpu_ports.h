#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/gpu_segment.h"
#include "engine/plan.h"
#include "engine/ring_port.h"

namespace heddle {

/** Of the port that a node, a From- or ToGPUPort, is of. */
const std::string& port_name(const Router& router, int node);
/** The ports of a chain by name, with the arguments that one of their elements has. */
std::map<std::string, GPUPort::Config> gpu_ports(const Router& router);
/** The same, once all have them and the plan knows the ways between them: a port transmits by a ring for each ring pair
 *  whose packets may leave by it. */
std::map<std::string, GPUPort::Config> gpu_ports(const Router& router, const Plan& plan);
/** The arguments of the ports that a segment's packets come from, without those of which they are missing. */
std::vector<GPUPort::Config> receiving_ports(const Router& router, const Segment& segment);
/** Whether what a port receives may be gathered: it lies in buffers of its own in host memory, those of a memif's
 *  client, and, by WARP_BATCH and NDESC, several multiprocessors serve a ring pair. */
bool may_gather(const GPUPort::Config& config);

/** The ports of a configuration whose rings GPUs drive, and the kernels that take packets from one port's rings through
 *  a segment to others'. A kernel runs while both ports have a peer, of several to send by at least one. A thread of
 *  its own waits for peers, and wakes those that wait for interrupts; it has nothing else to do with packets.
 *
 *  Ports outlive configurations (RingPort). The next one is made while this one runs, has its new ports opened, and,
 *  when this one has paused, gets its kernels (add(), start()); take_over() makes all ports its own. Until then this
 *  one can go_on(). */
class GpuPorts {
 public:
  /** `former`: those that run, of which ports with the same names and arguments go on. Throws Error: a port that is
   *  there is to be another. */
  GpuPorts(const Router& router, const Plan& plan, const GpuPorts* former = nullptr);
  ~GpuPorts();
  bool any() const { return !ports_.empty(); }

  /** Opens the ports that are new: peers may call. Throws Error. */
  void open();
  /** Makes the memory of the ports and room for the rings of `segment`. Before Device::start(). Throws Error: ports
   *  that go on cannot be served so. */
  void add(const Segment& plan, GpuSegment& segment);
  /** Does all that can fail. Throws Error. */
  void start();
  /** From now on the ports are these', and packets flow. */
  void take_over() noexcept;
  /** Ends the kernels: what comes waits in the rings, and peers that come and go are not looked after. */
  void pause();
  void go_on();
  /** Ends the kernels, and the connections of those ports that are still its own. */
  void stop();
  /** Kernels that run take up the newest programs of their segments: when it returns, no tile runs an older one. */
  void renew();

 private:
  using Direction = RingPort::Direction;
  static constexpr Direction kReceive = RingPort::kReceive, kTransmit = RingPort::kTransmit;
  /** A port as this configuration has it. */
  struct Port {
    std::shared_ptr<RingPort> rings;
    GPUPort::Config config;
    std::vector<GPUPort*> elements;
    const Node* node;                     ///< that has the arguments
    bool is_open = false;                 ///< of a new one
    std::vector<std::string> users = {};  ///< as RingPort has them, from now on
    /** It has not been another's, or it is not any more. */
    bool is_new(const GpuPorts* mine) const { return rings->user == mine; }
  };
  /** What spread segments have on a device. */
  struct Spread {
    int pairs = 0;      ///< of rings
    bool alone = true;  ///< no other segment runs there, and none with a WARP_BATCH
  };
  /** A port that packets of a way leave by. */
  struct Exit {
    RingPort* port;
    size_t number;                ///< of the segment's exits
    std::vector<uint32_t> rings;  ///< of the port's transmitting rings, the way's, by ring pair
    bool served = false;          ///< while the way runs: it had a peer when the kernel began
  };
  /** From one port through a segment to others. */
  struct Way {
    GpuSegment* segment;
    size_t entrance;  ///< number among the segment's
    RingPort* from;
    std::vector<Exit> to = {};
    gpu::RingsId rings{};
    bool running = false;

    bool has(const RingPort& port) const {
      return from == &port || std::ranges::any_of(to, [&](const Exit& exit) { return exit.port == &port; });
    }
    /** Whether packets can come, and go by one port at least. */
    bool is_up() const {
      return from->is_up() && std::ranges::any_of(to, [](const Exit& exit) { return exit.port->takes_packets(); });
    }
    /** Whether a peer has come that the kernel does not know. */
    bool lacks_peer() const {
      return running &&
             std::ranges::any_of(to, [](const Exit& exit) { return !exit.served && exit.port->takes_packets(); });
    }
  };
  static uint32_t whole_lines(uint32_t bytes);  ///< of a buffer: rounded up to lines of 128 bytes
  /** Offsets of buffers have 32 bits, as memif's descriptors have it. Throws Error: so many bytes are too many. */
  static void check_offsets(uint64_t bytes);
  const Port& port_of(int node) const;
  /** Finds out by which transmitting rings of each port the packets of each ring pair leave: those that have had one
   *  keep it, for what lies there must not be overtaken. */
  void share_out_rings(const Segment& plan);
  void add_way(const Segment& plan, GpuSegment& segment, size_t entrance);
  /** The running port that `port` is, or null. Throws Error if that cannot be. */
  std::shared_ptr<RingPort> running_port(const Port& port, const std::string& name, const GpuPorts* former) const;
  /** Throws Error: `port`, which goes on, cannot do so in this configuration. */
  [[noreturn]] void refuse(const Port& port, const std::string& why) const;
  /** Throws Error: soft NICs of `former` cannot go on in this configuration. */
  void check_soft_nics(const Plan& plan, const GpuPorts& former) const;
  void check_room(const Port& from, const Segment& segment) const;
  void make_memory(const Plan& plan);
  void place(const Port& port, Direction direction, gpu::Device& own) const;
  /** Those of a segment have one pool; if its packets come from memifs alone, each has its own. */
  void add_soft_nics(const Segment& plan, gpu::Device& device);
  /** What a way is to a ring pair of its port, by exit of its segment. */
  std::vector<gpu::RingOutput> outputs(const Way& way, uint32_t queue) const;
  /** Warps for a ring pair of `from`. */
  int workers(const Segment& plan, const Port& from, const gpu::DeviceInfo& device) const;
  void wake();
  void serve();
  void look();
  /** Says why there is no connection, once for each reason: a peer has refused it, or cannot be reached for two
   *  seconds. */
  static void tell_problem(RingPort& port);
  /** Interrupts those that wait for packets; returns when to look again, at the latest. */
  std::chrono::microseconds wake_peers();
  void begin_those_that_can();
  void begin(Way& way);
  void end(Way& way);
  /** Ends the kernels that run, and begins them again: meanwhile memory can be given back. */
  void begin_anew();
  void peer_has_gone(RingPort& port, memif::Session& session);
  void nic_has_gone(RingPort& port);
  void new_connection(RingPort& port);
  /** Gives back what it can of former peers' memory. */
  void give_back();
  /** Whether a device has failed, which ends the program. */
  bool has_failed();

  const Router& router_;
  std::shared_ptr<PortMemory> memory_;
  uint32_t headroom_ = 128;  ///< of a buffer, bytes
  std::vector<Port> ports_;
  std::map<int, Spread> spread_;  ///< by device
  std::vector<Way> ways_;
  memif::EventWriter events_;
  std::chrono::microseconds pause_{0};  ///< before peers are woken the next time
  std::mutex mutex_;                    ///< guards all of it once the thread runs
  std::thread thread_;
  int wake_ = -1;  ///< eventfd
  bool serving_ = false, stopping_ = false;
};

}  // namespace heddle
