#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "elements/endpoints/gpu_port.h"
#include "engine/port_memory.h"
#include "engine/soft_nic_port.h"
#include "io/memif/interrupts.h"

namespace heddle {

class GpuPorts;

/** The buffers of ports that are memif's clients and have been opened together, in one memory, so that packets can stay
 *  where they are from one of them to another. */
struct ClientBuffers {
  memif::Region region;
  uint32_t headroom, stride;                           ///< of a buffer, bytes
  uint32_t room() const { return stride - headroom; }  ///< for a packet and what is put behind it
  gpu::SharedMemory memory() const { return {reinterpret_cast<uint8_t*>(region.base()), region.bytes()}; }
};

/** A port whose rings a GPU drives: its memory, its peer, and how far its rings are. It goes on in configurations that
 *  have it one after the other. */
struct RingPort {
  using Direction = SoftNicPort::Direction;
  static constexpr Direction kReceive = SoftNicPort::kReceive, kTransmit = SoftNicPort::kTransmit;
  /** The rings in one direction, as a GPU knows them. */
  struct Rings {
    gpu::Device* memory = nullptr;            ///< that of the ports beside the GPU that drives them; null: none has
    gpu::TableId table = gpu::TableId::none;  ///< in it: [queues][size], where a client's buffers begin
    std::vector<gpu::RingStop> positions;     ///< by queue, one of the two counts
    bool fresh = true;                        ///< no kernel has served them since the connection is up
  };

  /** `user` has `elements` of it. */
  RingPort(std::string name, const GPUPort::Config& config, const GpuPorts* user, std::vector<GPUPort*> elements);
  /** Why it cannot go on as one with these arguments, and, if it `transmits`, as many rings for that: "its NDESC is
   *  1024"; "": it can. */
  std::string difference(const GPUPort::Config& config, bool transmits) const;
  /** Whether one with these arguments, of another name, would be where only one can be: it listens at the same path, or
   *  is the same DPDK port's. */
  bool shares_place(const GPUPort::Config& config) const;
  /** Makes the table of its buffers in `memory`, if they have none. */
  void place(Direction direction, gpu::Device& memory);
  /** A new connection, or none before: all rings begin. */
  void begin_rings();
  /** How a GPU sees a ring. */
  gpu::RingEnd ring_end(Direction direction, uint32_t queue) const;
  /** What the elements of the configuration that runs say of the connection. */
  void tell_elements();
  /** Ends the connection, and gives back what the port has of GPUs, whose kernels do not serve it any more. */
  void close(PortMemory& memory, const std::string& reason);
  /** The peer has gone: what it has shared is not used any more, and what lies in its rings is counted as lost. */
  void forget_peer(PortMemory& memory, memif::Session& session);

  /** The NIC has gone: what it has shared is not used any more, and what lies in its rings is counted as lost. */
  void forget_nic(PortMemory& memory);
  /** Counts what lies in the rings of a memif whose connection ends. */
  void count_left(const memif::Session& session) const;

  /** The process that plays its NIC; null: this one does, or it is a memif. */
  softnic::Remote* remote() const { return nic ? nic->remote() : nullptr; }
  bool is_up() const { return remote() ? remote()->is_up() : nic != nullptr || memif->session() != nullptr; }
  /** Whether its peer, too, is ready for packets: a client gives a server its buffers when it is connected already. */
  bool takes_packets() const { return is_up() && (nic != nullptr || is_client() || has_buffers); }
  /** Looks whether the peer has given buffers. */
  void look_for_buffers();
  /** Of the connection that there is. */
  uint64_t peer_number() const { return remote() ? remote()->number() : nic ? 0 : memif->number(); }
  // Of one whose peer is another program, which comes and goes.
  bool has_peer() const { return memif != nullptr || remote() != nullptr; }
  void serve();
  int descriptor() const;  ///< what to wait for; -1: nothing
  void disconnect(const std::string& reason);
  /** Says something about it on standard error, all but printable ASCII escaped, for it may be a peer's words. At most
   *  once a second; the next message then says how many were left out. */
  void say(const std::string& what);
  bool may_say() const;
  std::string refusal() const;  ///< why the last connection has ended before it was up; "": it has not
  /** Why its peer, which it is to call, has not been reached the last time; "": it has, or the peer calls. */
  const std::string& unreachable() const { return remote() ? remote()->unreachable() : memif->unreachable(); }
  const std::string& socket() const { return remote() ? config.nic_socket : config.memif.socket; }

  bool is_client() const { return nic == nullptr && config.memif.role == memif::Role::client; }
  uint32_t size() const { return 1u << config.memif.interface.log2_size; }
  uint32_t queues(Direction direction) const {
    const memif::Interface& interface = config.memif.interface;
    return static_cast<uint32_t>(direction == kReceive ? interface.receiving : interface.transmitting);
  }

  const std::string name;
  const GPUPort::Config config;  ///< of when it was opened, without the DPDK port
  const std::string device;      ///< a soft NIC's

  std::shared_ptr<ClientBuffers> buffers;  ///< a client's
  uint32_t first_buffer = 0;               ///< of these
  memif::Region rings;                     ///< a client's
  std::unique_ptr<memif::Port> memif;
  std::string told;                                 ///< why its peers have not been connected to, as last printed
  std::chrono::steady_clock::time_point said{};     ///< when something was, the last time
  uint64_t unsaid = 0;                              ///< what has been left out since
  std::chrono::steady_clock::time_point reached{};  ///< when its peer was, the last time, or when it was opened
  std::unique_ptr<SoftNicPort> nic;                 ///< in memif's place
  const std::shared_ptr<softnic::Counts> losses = std::make_shared<softnic::Counts>();
  memif::Interrupts interrupts;  ///< to its peer, of the connection that directions are about
  Rings directions[2];
  std::vector<std::string> users;        ///< by transmitting ring: whose packets it has, "lan 0": ring pair 0 of port
                                         ///< lan
  uint64_t number = 0, connections = 0;  ///< of the connection that directions are about; how many there have been
  std::vector<gpu::SharedMemory> peer_memory;  ///< a server's, of the connection
  uint32_t peer_capacity = 0;                  ///< the same: bytes that its peer's buffers hold
  bool has_buffers = false;                    ///< the same: its peer has given some
  std::vector<GPUPort*> elements;              ///< of the configuration that runs
  const GpuPorts* user = nullptr;              ///< who is to close it
};

}  // namespace heddle
