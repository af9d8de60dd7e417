#define ALLOW_EXPERIMENTAL_API  // rte_dev_dma_map
#include "io/dpdk/dpdk.h"

#include <fcntl.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/cores.h"
#include "core/error.h"
#include "io/dpdk/close_port.h"
#include "io/dpdk/devices.h"
#include "io/dpdk/start_port.h"
#include "io/dpdk/watch.h"

namespace heddle::dpdk {
namespace {

constexpr std::string_view kRingDriver = "net_ring_";
constexpr unsigned kOrdinaryBytes = 2048;  ///< longest frame of an ordinary buffer

struct Rings {
  std::vector<rte_ring*> receive, transmit;
};

struct State {
  std::vector<std::unique_ptr<Port>> ports;
  std::map<std::string, Rings> ring_ports;  // by name
  bool eal = false;
  std::vector<rte_mempool*> pools;
  std::vector<std::pair<void*, size_t>> registered;  // memory that devices may reach
  PacketPool* packets = nullptr;
  const std::vector<std::unique_ptr<Port>>* former = nullptr;  // while a PortChange is under way: those that run
  Settings settings;
  std::unique_ptr<Watch> watch;
};
State& state() {
  static State state;
  return state;
}

/** Bytes of the longest frame that the port is to take where that is more than an ordinary buffer has, else 0. */
uint32_t large_frame_bytes(const Port& port) {
  constexpr int kEthernetBytes = 18;  // header and VLAN tag
  const int mtu = port.mtu != 0 ? port.mtu : port.interface.empty() ? 0 : mtu_of(port.interface).value_or(0);
  const int bytes = mtu + kEthernetBytes;
  return bytes <= static_cast<int>(kOrdinaryBytes) ? 0 : std::min(static_cast<uint32_t>(bytes), kMaxJumboBytes);
}

// Whether a huge page of any size is free.
bool huge_pages_free() {
  std::error_code error;
  for (auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    long free = 0;
    std::ifstream(entry.path() / "free_hugepages") >> free;
    if (free > 0) return true;
  }
  return false;
}

std::string full_device(const Port& port, int threads) {
  return with_composed_arguments(port.device, std::max(threads, port.rx_queues), large_frame_bytes(port));
}

/** Whether EAL's arguments say which cores it is to use: -l LIST, -c MASK or --lcores MAP. */
bool names_cores(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(arguments, [](const std::string& word) {
    return word.starts_with("-l") || word.starts_with("-c") || word.starts_with("--lcores");
  });
}

/** The cores that EAL has. */
cpu_set_t cores_of_eal() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  unsigned lcore;
  RTE_LCORE_FOREACH(lcore) {
    const rte_cpuset_t of_one = rte_lcore_cpuset(lcore);
    CPU_OR(&cores, &cores, &of_one);
  }
  return cores;
}

std::vector<std::string> eal_arguments(const std::vector<std::string>& extra, int threads) {
  const std::vector<int> cores = allowed_cores();
  std::vector<std::string> arguments{"heddle",        "--no-telemetry", "--log-level",
                                     "lib.eal:error", "--log-level",    "*:error"};
  if (!names_cores(extra)) arguments.insert(arguments.end(), {"-l", std::to_string(cores.empty() ? 0 : cores[0])});
  const bool huge = geteuid() == 0 && huge_pages_free();
  // Nothing of EAL's is shared with other processes, and no file is left behind.
  if (huge)
    arguments.push_back("--in-memory");
  else
    arguments.insert(arguments.end(), {"--no-huge", "--no-shconf", "-m", "256"});
  bool pci = false;
  for (auto& port : state().ports) {
    const std::string name = name_of(port->device);
    if (state().ring_ports.contains(name)) continue;
    if (is_virtual(name)) {
      arguments.insert(arguments.end(), {"--vdev", full_device(*port, threads)});
    } else {
      pci = true;
      if (is_pci(name)) arguments.insert(arguments.end(), {"-a", port->device});
    }
  }
  if (!pci) arguments.push_back("--no-pci");
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/** The device by which `driver` joins an interface: that of the former configuration, or one with a name of its own. */
std::string device_for(const std::string& interface, const std::string& driver) {
  int serial = 0;
  if (state().former != nullptr)
    for (auto& port : *state().former) {
      if (argument_of(port->device, "iface") == interface && port->device.starts_with(driver)) return port->device;
      if (port->device.starts_with(driver)) ++serial;
    }
  while (std::any_of(state().ports.begin(), state().ports.end(),
                     [&](auto& port) { return name_of(port->device) == driver + std::to_string(serial); }))
    ++serial;
  return driver + std::to_string(serial) + ",iface=" + interface;
}

}  // namespace

Port* request_port(const std::string& device) {
  const std::string name = name_of(device);
  if (!is_number(name) && !is_pci(name) && !is_virtual(name))
    throw Error("'" + device +
                "' is not a DPDK port; expected a port number (0), a PCI address (0000:03:00.0) or a virtual device "
                "(net_af_packet0,iface=eth0, net_tap0, net_memif0, net_ring0, net_pcap0,rx_pcap=FILE, net_null0)");
  for (auto& port : state().ports) {
    if (name_of(port->device) != name) continue;
    if (device.size() > port->device.size()) port->device = device;  // the mention that has the arguments
    return port.get();
  }
  state().ports.push_back(std::make_unique<Port>());
  state().ports.back()->device = device;
  return state().ports.back().get();
}

Port* request_interface(const std::string& interface, const std::string& method) {
  if (interface.empty() || interface.size() > 15 || interface.find_first_of(",/ ") != interface.npos)
    throw Error("'" + interface + "' is not the name of a kernel interface such as eth0");
  const bool any = method == kAnyMethod;
  const std::string driver = any ? "net_tap" : method.empty() ? "net_af_packet" : method;
  for (auto& port : state().ports) {
    if (argument_of(port->device, "iface") != interface) continue;
    if (!any && port->any_method) {
      if (!port->device.starts_with(driver)) port->device = device_for(interface, driver);
      port->any_method = false;
    } else if (!any && !method.empty() && !port->device.starts_with(driver)) {
      throw Error(interface + " has been joined as " + name_of(port->device) + "; METHOD must be the same everywhere");
    }
    return port.get();
  }
  Port* const port = request_port(device_for(interface, driver));
  port->any_method = any;
  return port;
}

std::string Port::problem() const {
  return removed ? (interface.empty() ? device : interface) + " was removed while the program used it" : std::string();
}

Settings& settings() { return state().settings; }

unsigned data_room() {
  if (state().settings.data_room != 0) return state().settings.data_room;
  uint32_t bytes = kOrdinaryBytes;
  for (auto& port : state().ports) {
    if (const uint32_t frame = large_frame_bytes(*port); frame != 0) bytes = std::max(bytes, ring_frame_bytes(frame));
    bytes = std::max(bytes, port->frame_bytes);
  }
  return RTE_PKTMBUF_HEADROOM + bytes;
}

bool wanted() { return !state().ports.empty(); }

unsigned packets_needed(int threads) {
  unsigned needed = 0;
  for (auto& port : state().ports)
    needed += port->held +
              static_cast<unsigned>(threads) *
                  static_cast<unsigned>((port->rx_descriptors ? port->rx_descriptors : state().settings.descriptors) +
                                        (port->tx_descriptors ? port->tx_descriptors : state().settings.descriptors));
  return needed == 0 ? 0 : needed + static_cast<unsigned>(threads + 1) * state().settings.cached * 2;
}

/** Finds out which kernel interface is behind a port, and that it is there. */
void find_interface(Port& port) {
  port.interface = argument_of(port.device, "iface");
  const bool makes_it = name_of(port.device).starts_with("net_tap");
  if (port.interface.empty() || makes_it) return;
  if (link_of(port.interface) == Link::gone)
    throw Error(port.device + ": there is no interface '" + port.interface + "' here; `ip link` lists them");
  if (port.mtu != 0 && mtu_of(port.interface) != port.mtu && !set_mtu(port.interface, port.mtu))
    throw Error(format("%s: setting its MTU to %d: %s", port.interface.c_str(), port.mtu, std::strerror(errno)));
}

void add_ring_port(const std::string& name, std::vector<rte_ring*> receive, std::vector<rte_ring*> transmit) {
  if (!name.starts_with(kRingDriver)) throw Error("'" + name + "' is not the name of a ring port, net_ring_...");
  state().ring_ports[name] = {std::move(receive), std::move(transmit)};
}

/** Those that a chain or someone else has asked for. */
void make_ring_ports() {
  for (auto& port : state().ports) {
    const auto found = state().ring_ports.find(name_of(port->device));
    if (found == state().ring_ports.end()) continue;
    const auto& [receive, transmit] = found->second;
    if (rte_eth_from_rings(found->first.substr(kRingDriver.size()).c_str(), receive.data(),
                           static_cast<unsigned>(receive.size()), transmit.data(),
                           static_cast<unsigned>(transmit.size()), 0) < 0)
      throw Error(found->first + ": DPDK makes no port of these rings: " + rte_strerror(rte_errno));
  }
}

/** Makes a virtual device that is not there yet, when EAL runs. */
void plug_in(const Port& port, int threads) {
  const std::string name = name_of(port.device);
  uint16_t id;
  if (!is_virtual(name) || state().ring_ports.contains(name)) return;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0) return;
  const std::string full = full_device(port, threads);
  if (rte_eal_hotplug_add("vdev", name.c_str(), full.size() > name.size() ? full.c_str() + name.size() + 1 : "") != 0)
    throw Error("cannot make the virtual device '" + port.device + "'");
}

/** While it lives, what is written to standard output goes to standard error. EAL prints its usage there, where others
 *  expect a report or packets. */
class OutputToError {
 public:
  OutputToError() : output_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)) {
    std::fflush(stdout);
    if (output_ >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~OutputToError() {
    std::fflush(stdout);
    if (output_ >= 0) dup2(output_, STDOUT_FILENO), close(output_);
  }
  OutputToError(const OutputToError&) = delete;
  OutputToError& operator=(const OutputToError&) = delete;

 private:
  int output_;
};

int init_eal(std::vector<char*> arguments) {
  const OutputToError of_eal;
  return rte_eal_init(static_cast<int>(arguments.size()), arguments.data());
}

void start_eal(const std::vector<std::string>& extra, int threads) {
  for (auto& port : state().ports) find_interface(*port);
  if (state().eal) {  // a second engine of this process (tests): EAL stays, its devices come and go
    for (auto& port : state().ports) plug_in(*port, threads);
    make_ring_ports();
    return;
  }
  const std::vector<std::string> arguments = eal_arguments(extra, threads);
  std::vector<char*> pointers;
  std::vector<std::string> copies = arguments;
  for (auto& argument : copies) pointers.push_back(argument.data());
  cpu_set_t affinity;
  CPU_ZERO(&affinity);
  sched_getaffinity(0, sizeof affinity, &affinity);
  const int result = init_eal(pointers);
  // EAL ties this thread to its core. Packet threads, which inherit what this one may use, have those that the user
  // named.
  if (result >= 0 && names_cores(extra)) affinity = cores_of_eal();
  sched_setaffinity(0, sizeof affinity, &affinity);
  if (result < 0)
    throw Error(
        format("DPDK did not start: %s. Its arguments were: %s. A virtual device needs its own (see FromDPDKDevice), "
               "kernel interfaces need root, other arguments can be added with --dpdk",
               rte_strerror(rte_errno), joined(arguments).c_str()));
  state().eal = true;
  rte_mbuf_dynfield field{};
  std::strcpy(field.name, "heddle_capture_info");
  field.size = sizeof(CaptureInfo);
  field.align = 4;
  const int offset = rte_mbuf_dynfield_register(&field);
  if (offset < 0) throw Error("DPDK has no room for another mbuf field");
  capture_info_offset = static_cast<size_t>(offset);
  make_ring_ports();
}

// NICs reach memory by bus addresses, so that a packet must not straddle pages.
bool has_nic() {
  return std::any_of(state().ports.begin(), state().ports.end(),
                     [](auto& port) { return !is_virtual(name_of(port->device)); });
}

size_t pool_bytes(unsigned count, unsigned data_room) {
  rte_mempool_objsz size{};
  rte_mempool_calc_obj_size(static_cast<uint32_t>(sizeof(rte_mbuf) + data_room), 0, &size);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t packet = has_nic() ? (size.total_size + page - 1) / page * page : size.total_size;
  return packet * count + page;
}

std::string why_only_own_buffers() {
  for (const auto& port : state().ports) {
    const std::string name = name_of(port->device);
    // DPDK's drivers (22.11) take the frame's place in the pool's memory for its address.
    if (name.starts_with("net_af_xdp") || argument_of(port->device, "zero-copy") == "yes")
      return "port " + name + " sends packets from its own memory only; use another transport, such as gather";
    if (!is_virtual(name) && rte_eal_iova_mode() != RTE_IOVA_VA)
      return "NIC " + name +
             " is given physical addresses; use another transport, such as gather, or --dpdk \"--iova-mode=va\"";
  }
  return {};
}

std::unique_ptr<PacketPool> make_pool(const char* name, unsigned count, unsigned data_room, PacketMemory memory,
                                      size_t reached) {
  // DPDK's own limit for the cache that each thread has.
  if (const unsigned least = state().settings.cached * 3 / 2; count < least)
    throw Error(format("packet pool of %u: there must be at least %u packets", count, least));
  const bool nic = has_nic();
  static int serial = 0;  // names must differ within a process
  const std::string unique = format("%s%d", name, serial++);
  rte_mempool* pool = rte_mempool_create_empty(
      unique.c_str(), count, static_cast<unsigned>(sizeof(rte_mbuf) + data_room), state().settings.cached,
      sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, nic ? 0 : RTE_MEMPOOL_F_NO_IOVA_CONTIG);
  if (pool == nullptr || rte_mempool_set_ops_byname(pool, "ring_mp_mc", nullptr) != 0)
    throw Error(format("packet pool of %u: %s; give DPDK more memory with --dpdk \"-m MEGABYTES\"", count,
                       rte_strerror(rte_errno)));
  state().pools.push_back(pool);
  rte_pktmbuf_pool_private details{};
  details.mbuf_data_room_size = static_cast<uint16_t>(data_room);
  rte_pktmbuf_pool_init(pool, &details);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (nic) {
    // NICs reach only memory that EAL knows; virtual devices copy with the CPU.
    reached = std::max(reached, memory.bytes);
    if (rte_extmem_register(memory.base, reached, nullptr, 0, page) != 0)
      throw Error(format("packet memory: DPDK does not take it: %s", rte_strerror(rte_errno)));
    state().registered.emplace_back(memory.base, reached);
  }
  const int populated =
      rte_mempool_populate_virt(pool, reinterpret_cast<char*>(memory.base), memory.bytes, page, nullptr, nullptr);
  if (populated < 0 || static_cast<unsigned>(populated) < count)
    throw Error(format("packet pool: only %d of %u packets fit", populated, count));
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return std::make_unique<PacketPool>(pool);
}

void start_ports(PacketPool& pool, int threads) {
  for (auto& port : state().ports) {
    start_port(*port, pool.mempool(), threads, state().settings.descriptors);
    for (auto& [base, bytes] : state().registered) {
      rte_eth_dev_info info{};
      if (is_virtual(name_of(port->device)) || rte_eth_dev_info_get(port->id, &info) != 0) continue;
        // Without an IOMMU there is nothing to map, and the driver says so.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // as DPDK declares what is still experimental
      rte_dev_dma_map(info.device, base, reinterpret_cast<uint64_t>(base), bytes);
#pragma GCC diagnostic pop
    }
  }
  state().packets = &pool;
  state().watch = std::make_unique<Watch>(state().ports);
}

PacketPool* packet_pool() { return state().packets; }

void close_ports() {
  State& all = state();
  all.watch.reset();
  all.settings = {};
  all.packets = nullptr;
  if (!all.eal) {
    all.ports.clear();
    all.ring_ports.clear();
    return;
  }
  for (auto& port : all.ports) close_port(*port, {});
  all.ports.clear();
  all.ring_ports.clear();
  for (rte_mempool* pool : all.pools) rte_mempool_free(pool);
  all.pools.clear();
  for (auto& [base, bytes] : all.registered) rte_extmem_unregister(base, bytes);
  all.registered.clear();
}

namespace {

/** The port of `list` for the same device, or null. */
Port* same_device(const std::vector<std::unique_ptr<Port>>& list, const Port& port) {
  for (auto& other : list)
    if (name_of(other->device) == name_of(port.device)) return other.get();
  return nullptr;
}

/** Makes `port` mean what `running` does. Throws Error if it is to be something else. */
void go_on(Port& port, const Port& running) {
  const auto refuse = [&](const char* what) {
    throw Error(format("%s: %s cannot be changed while the program runs; leave it, or start the program anew",
                       port.device.c_str(), what));
  };
  if (port.device == name_of(running.device)) port.device = running.device;
  if (port.device != running.device) refuse("its arguments");
  if (port.mtu != 0 && port.mtu != running.mtu) refuse("MTU");
  if (port.mac != click::EthernetAddress{} && port.mac != running.mac) refuse("MAC");
  if (port.rx_queues > running.queues) refuse("the number of queues");
  if (port.rx_descriptors != 0 && port.rx_descriptors != running.rx_descriptors) refuse("NDESC of what it receives");
  if (port.tx_descriptors != 0 && port.tx_descriptors != running.tx_descriptors) refuse("NDESC of what it sends");
  if (port.outbound != running.outbound || port.protocol != running.protocol) refuse("OUTBOUND or PROTOCOL");
  port.mtu = running.mtu, port.mac = running.mac;
  port.rx_descriptors = running.rx_descriptors, port.tx_descriptors = running.tx_descriptors;
  port.interface = running.interface, port.id = running.id, port.queues = running.queues;
  port.checked = running.checked;
  port.link_up = running.link_up.load(), port.was_up = running.was_up.load();
  port.removed = running.removed.load(), port.link_downs = running.link_downs.load();
  port.longest_frame = running.longest_frame.load();
  if (port.promiscuous && port.receives) rte_eth_promiscuous_enable(port.id);
}

}  // namespace

PortChange::PortChange() : former_(std::move(state().ports)), former_settings_(state().settings) {
  state().ports.clear();
  state().settings = {};
  state().former = &former_;
}

void PortChange::roll_back() {
  if (over_) return;
  over_ = true;
  for (const Port* port : opened_) close_port(*port, former_);
  std::swap(state().ports, former_);
  state().settings = former_settings_;
  state().former = nullptr;
}

void PortChange::start(PacketPool& pool, int threads) {
  for (auto& port : state().ports) {
    if (const Port* running = same_device(former_, *port); running != nullptr) {
      go_on(*port, *running);
      continue;
    }
    if (state().packets != &pool)
      throw Error(port->device +
                  ": the program was started without ports, so its packets are not DPDK's; start it anew");
    if (!is_virtual(name_of(port->device)) && state().registered.empty())
      throw Error(port->device +
                  ": the program was started without NICs, so they do not reach its packets; start it anew");
    const uint32_t frame = large_frame_bytes(*port), room = rte_pktmbuf_data_room_size(pool.mempool());
    if (frame + RTE_PKTMBUF_HEADROOM > room)
      throw Error(
          format("%s: its frames of %u bytes do not fit the packets of the running program, which have %u; start "
                 "it anew",
                 port->device.c_str(), frame, room - RTE_PKTMBUF_HEADROOM));
    find_interface(*port);
    plug_in(*port, threads);
    opened_.push_back(port.get());
    if (rte_eth_dev_get_port_by_name(name_of(port->device).c_str(), &port->id) != 0) port->id = RTE_MAX_ETHPORTS;
    start_port(*port, pool.mempool(), threads, state().settings.descriptors);
  }
}

void PortChange::take_over() {
  over_ = true;
  state().former = nullptr;
  if (former_.empty() && state().ports.empty()) return;
  state().watch.reset();
  state().watch = std::make_unique<Watch>(state().ports);
}

void PortChange::close_former() {
  for (auto& port : former_)
    if (same_device(state().ports, *port) == nullptr) close_port(*port, state().ports);
}

ThreadGuard::ThreadGuard() {
  registered_ = state().eal && rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0;
}
ThreadGuard::~ThreadGuard() {
  if (registered_) rte_thread_unregister();
}

}  // namespace heddle::dpdk
