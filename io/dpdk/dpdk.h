#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "click/values.h"
#include "core/packet_pool.h"

struct rte_ring;

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
  int rx_queues = 0;                           ///< 0: one a thread
  int mtu = 0;                                 ///< 0: as it is
  unsigned frame_bytes = 0;                    ///< that a packet's buffer must hold at least, whatever the MTU
  unsigned held = 0;                           ///< packets that its user has under way, beside those of batches
  bool spreads = false;                        ///< frames go to all queues, also if there is but one thread
  click::EthernetAddress mac;                  ///< 0: as it is
  bool promiscuous = true;
  int pause = -1;           ///< Ethernet flow control, an rte_eth_fc_mode; negative: as it is
  bool outbound = true;     ///< af_packet: whether frames that the kernel sends are received, too
  uint16_t protocol = 0;    ///< af_packet: the only EtherType that is received; 0: all
  bool any_method = false;  ///< nobody has said yet how the kernel interface is joined
  std::string interface;    ///< the kernel interface that it joins or makes, "" = none or not known
  uint16_t id = 0;          ///< DPDK's port number, once started
  int queues = 0;           ///< of each direction, once started
  /** Whether it may give frames in several buffers, or with lengths that their buffers do not have; once started. */
  bool checked = true;

  // Kept by a Watch while it runs.
  std::atomic<bool> link_up{false}, was_up{false}, removed{false};
  std::atomic<uint64_t> link_downs{0};
  std::atomic<uint32_t> longest_frame{UINT32_MAX};  ///< that it sends, without a VLAN tag
  /** What became of it that its user should know, "" = nothing. */
  std::string problem() const;
};

/** What DPDKInfo sets; 0: Heddle chooses. Until close_ports(). */
struct Settings {
  unsigned packets = 0;              ///< in the pool
  unsigned data_room = 0;            ///< bytes of a packet's buffer, headroom included
  unsigned cached = 256;             ///< packets that a thread's cache holds
  int descriptors = 1024;            ///< of a ring
  int burst = 64;                    ///< packets asked for at a time
  std::optional<bool> lists_on_gpu;  ///< where packets lie that a GPU gets by lists; none: as the launch mode wants
};
Settings& settings();

/** The port for `device`, made on first use. Two names mean the same device when they agree up to the first comma.
 * Throws Error when `device` is no port number, PCI address or known virtual device. The pointer is valid until
 * close_ports(). */
Port* request_port(const std::string& device);

/** As request_interface()'s method: as somebody else says, and if nobody does, net_tap. */
constexpr const char* kAnyMethod = "any";

/** The port that joins the kernel interface `interface`, made on first use; `method` is net_af_packet, net_af_xdp or
 *  net_tap, or "" for whichever has been chosen, net_af_packet at first. Throws Error when another method has been. */
Port* request_interface(const std::string& interface, const std::string& method);

/** The port `name` ("net_ring_...") is to be made of these rings, one a queue: it receives what lies in `receive` and
 *  puts what it sends into `transmit`. So the program itself can hold the other end of a chain's port. Until
 *  close_ports(), which the rings must outlive. */
void add_ring_port(const std::string& name, std::vector<rte_ring*> receive, std::vector<rte_ring*> transmit);

bool wanted();                         ///< whether any port has been asked for
unsigned packets_needed(int threads);  ///< that rings and caches of the ports can hold
/** Bytes of a packet's buffer, headroom included: enough for the longest frames of the ports (MTU). */
unsigned data_room();

/** Starts EAL once with arguments composed from the ports that were asked for (huge pages only if there are free ones,
 * PCI only if a NIC is named) and then `extra`. Cores that `extra` names (-l, -c, --lcores) become those of the calling
 * thread and of all that it starts. Throws Error with EAL's reason and the arguments. */
void start_eal(const std::vector<std::string>& extra, int threads);
size_t pool_bytes(unsigned count, unsigned data_room);
/** A mempool of DPDK's own whose packets lie in `memory`. NICs reach it, or `reached` bytes from its start if that is
 *  more. */
std::unique_ptr<PacketPool> make_pool(const char* name, unsigned count, unsigned data_room, PacketMemory memory,
                                      size_t reached = 0);
/** "", or why the ports that were asked for cannot send packets whose bytes do not lie in the pool, and what to do. */
std::string why_only_own_buffers();
/** Configures and starts every port, with at least one queue a thread, and watches their links. */
void start_ports(PacketPool& pool, int threads);
/** The pool that the started ports receive into, null = none are started. */
PacketPool* packet_pool();
void close_ports();

/** The ports of another configuration, while those of the one that runs are in use. One at a time; on any thread, but
 *  that of close_ports(). What is asked for while this lives, until take_over(), is for the new configuration; a device
 *  that the old one has, too, goes on as it is. */
class PortChange {
 public:
  PortChange();
  ~PortChange() { roll_back(); }
  PortChange(const PortChange&) = delete;
  PortChange& operator=(const PortChange&) = delete;

  /** Opens and starts the ports that the old configuration has not. Throws Error, also when one that it has is to be
   *  another (MTU, MAC address, queues, arguments), or when packets of `pool` cannot be used for ports. */
  void start(PacketPool& pool, int threads);
  /** Unless take_over() has been called: closes what has been opened; requests are for the old configuration again.
   *  Ports that have been asked for meanwhile are there, unused, as long as this. */
  void roll_back();
  /** From now on these are the program's ports; those of the old configuration are there, unused, as long as this. */
  void take_over();
  /** Closes those that the new configuration does not have; nobody uses them any more. */
  void close_former();

 private:
  std::vector<std::unique_ptr<Port>> former_;  // of the old configuration; after roll_back() of the new one
  Settings former_settings_;
  std::vector<Port*> opened_;
  bool over_ = false;
};

/** Makes the calling thread one of DPDK's, so that it has packet caches of its own. Does nothing without EAL. */
class ThreadGuard {
 public:
  ThreadGuard();
  ~ThreadGuard();

 private:
  bool registered_ = false;
};

}  // namespace heddle::dpdk
