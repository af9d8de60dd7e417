#pragma once

#include <rte_ring.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/huge_pages.h"
#include "core/packet_pool.h"
#include "io/dpdk/dpdk.h"

namespace heddle::bench {

struct WireOptions {
  int ports = 1;
  int queues = 1;             ///< of each port; a router needs as many as it has packet threads
  unsigned slots = 1024;      ///< of a queue in each direction, as a NIC has descriptors: a power of two
  bool looped = false;        ///< no router: what a port sends comes back to it
  std::string name = "wire";  ///< the router's ports are net_ring_wire0, net_ring_wire1, ...
};

/** Cables between a router and a generator in one process. The router's port i is "net_ring_wire<i>", which a chain
 *  names like any other port; the generator holds the port at the other end. Both are DPDK ring ports: what one sends
 *  lies in a ring from which the other receives, and packets pass without being copied.
 *
 *  Make the Wire before the router, start the router (its engine starts all ports) or a Standalone, then make the
 *  Generator. The Wire outlives them. */
class Wire {
 public:
  explicit Wire(const WireOptions& options);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  const WireOptions& options() const { return options_; }
  /** What a chain calls the router's port `i`. */
  std::string router_port(int i) const;
  /** The generator's ends. Their DPDK numbers are right once the ports are started. */
  const std::vector<dpdk::Port*>& ends() const { return ends_; }
  /** The DPDK numbers of the ends for a Generator. */
  std::vector<uint16_t> port_ids() const;
  /** Which of these can be sent to, for a Generator: those whose router's port receives (in a loop, all). */
  std::vector<uint16_t> sending_ids() const;
  /** Packets that were sent to the router and that it has not taken yet; in a loop, that are on their way. */
  int64_t to_router() const;
  /** The router's end `i`, for what stands in for a router; before ports are started. */
  dpdk::Port* request_router_port(int i) const;

 private:
  using Ring = std::unique_ptr<rte_ring, void (*)(void*)>;
  rte_ring* make_ring();

  WireOptions options_;
  std::vector<Ring> rings_;
  std::vector<const rte_ring*> to_router_;
  std::vector<dpdk::Port*> ends_;
};

/** The same to a router in another process, over shared memory (memif): each port listens at a socket until the object
 *  dies. Packets are copied. Needs a Standalone, and its links to be up. */
class MemifWire {
 public:
  /** `sockets`: files, one a port. Make it before the Standalone; one in a process. Throws Error if one exists or
   *  cannot be made. */
  explicit MemifWire(const std::vector<std::string>& sockets);
  ~MemifWire();
  MemifWire(const MemifWire&) = delete;
  MemifWire& operator=(const MemifWire&) = delete;

  /** What the other process's chain calls port `i` (each process has names of its own), in quotes. */
  std::string router_port(int i) const;
  std::vector<uint16_t> port_ids() const;

 private:
  std::vector<std::string> sockets_;
  std::vector<dpdk::Port*> ends_;
};

/** DPDK without a router's engine: starts the ports that have been asked for, with a pool of packets placed as the
 *  engine places its own, and closes them. */
class Standalone {
 public:
  /** Ports have at least `queues` queues; `packets` 0: as many as the ports can hold. Sockets that ports listen at are
   *  for this user alone. Throws Error. */
  explicit Standalone(int queues, unsigned packets = 0);
  ~Standalone();
  Standalone(const Standalone&) = delete;
  Standalone& operator=(const Standalone&) = delete;

  PacketPool& pool() { return *pool_; }
  /** Whether all ports have somebody at their other end. */
  bool linked() const;

 private:
  HugePages memory_;
  std::unique_ptr<PacketPool> pool_;
};

}  // namespace heddle::bench
