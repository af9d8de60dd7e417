#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/packet_pool.h"

/** DPDK as the port layer. EAL is one per process, so this is a set of functions over one state: elements ask for ports
 * while they are configured, the engine starts EAL and the ports, and closes them at the end. */
namespace heddle::dpdk {

/** A NIC or virtual device of the chain. From- and ToDPDKDevice of the same device share it. */
struct Port {
  /** What the configuration says: a DPDK port number ("0"), a PCI address ("0000:03:00.0") or a virtual device with its
   *  arguments ("net_af_packet0,iface=veth0"). */
  std::string device;
  bool receives = false, transmits = false;
  int rx_descriptors = 0, tx_descriptors = 0;  ///< 0: the driver's default
  bool promiscuous = true;
  uint16_t id = 0;        ///< DPDK's port number, once started
  bool may_chain = true;  ///< whether it may give frames in several buffers, once started
};

/** The port for `device`, made on first use. Two names mean the same device when they agree up to the first comma.
 * Throws Error when `device` is no port number, PCI address or known virtual device. The pointer is valid until
 * close_ports(). */
Port* request_port(const std::string& device);

bool wanted();                         ///< whether any port has been asked for
unsigned packets_needed(int threads);  ///< that rings and caches of the ports can hold

/** Starts EAL once with arguments composed from the ports that were asked for (huge pages only if there are free ones,
 * PCI only if a NIC is named) and then `extra`. Throws Error with EAL's reason and the arguments. */
void start_eal(const std::vector<std::string>& extra);
size_t pool_bytes(unsigned count, unsigned data_room);
/** A mempool of DPDK's own whose packets lie in `memory`. */
std::unique_ptr<PacketPool> make_pool(const char* name, unsigned count, unsigned data_room, PacketMemory memory);
/** Configures and starts every port with one queue a thread. */
void start_ports(PacketPool& pool, int threads);
void close_ports();

/** Makes the calling thread one of DPDK's, so that it has packet caches of its own. Does nothing without EAL. */
class ThreadGuard {
 public:
  ThreadGuard();
  ~ThreadGuard();

 private:
  bool registered_ = false;
};

}  // namespace heddle::dpdk
