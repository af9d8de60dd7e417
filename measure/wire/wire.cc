#include "measure/wire/wire.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace heddle::bench {
namespace {

std::string end_name(const WireOptions& options, int i) { return format("net_ring_%s_end%d", options.name.c_str(), i); }

std::vector<uint16_t> ids_of(const std::vector<dpdk::Port*>& ports) {
  std::vector<uint16_t> ids;
  for (const dpdk::Port* port : ports) ids.push_back(port->id);
  return ids;
}

/** What is created meanwhile, only this user may use. */
struct OwnFiles {
  OwnFiles() = default;
  OwnFiles(const OwnFiles&) = delete;
  OwnFiles& operator=(const OwnFiles&) = delete;
  ~OwnFiles() { umask(before); }
  mode_t before = umask(0077);
};

}  // namespace

std::string Wire::router_port(int i) const { return format("net_ring_%s%d", options_.name.c_str(), i); }

rte_ring* Wire::make_ring() {
  const auto bytes = static_cast<size_t>(rte_ring_get_memsize(options_.slots));
  rings_.emplace_back(static_cast<rte_ring*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, bytes)), std::free);
  rte_ring* ring = rings_.back().get();
  // One thread sends to a queue and one receives from it, as with a NIC.
  if (ring == nullptr || rte_ring_init(ring, "wire", options_.slots, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0)
    throw Error(format("wire: no ring of %u slots", options_.slots));
  return ring;
}

Wire::Wire(const WireOptions& options) : options_(options) {
  if (!std::has_single_bit(options_.slots) || options_.slots < 64 || options_.slots > 1 << 20)
    throw Error(format("wire: %u slots; expected a power of two from 64 to 1048576", options_.slots));
  for (int i = 0; i < options_.ports; ++i) {
    std::vector<rte_ring*> there, back;
    for (int queue = 0; queue < options_.queues; ++queue) {
      there.push_back(make_ring());
      back.push_back(options_.looped ? there.back() : make_ring());
    }
    to_router_.insert(to_router_.end(), there.begin(), there.end());
    if (!options_.looped) dpdk::add_ring_port(router_port(i), there, back);
    dpdk::add_ring_port(end_name(options_, i), back, there);
    ends_.push_back(dpdk::request_port(end_name(options_, i)));
    ends_.back()->receives = ends_.back()->transmits = true;
    ends_.back()->rx_queues = options_.queues;
    ends_.back()->rx_descriptors = ends_.back()->tx_descriptors = static_cast<int>(options_.slots);
  }
}

std::vector<uint16_t> Wire::port_ids() const { return ids_of(ends_); }

int64_t Wire::to_router() const {
  int64_t packets = 0;
  for (const rte_ring* ring : to_router_) packets += rte_ring_count(ring);
  return packets;
}

dpdk::Port* Wire::request_router_port(int i) const {
  dpdk::Port* port = dpdk::request_port(router_port(i));
  port->receives = port->transmits = true;
  return port;
}

std::vector<uint16_t> Wire::sending_ids() const {
  std::vector<uint16_t> ids;
  for (int i = 0; i < options_.ports; ++i)
    if (options_.looped || dpdk::request_port(router_port(i))->receives)
      ids.push_back(ends_[static_cast<size_t>(i)]->id);
  return ids;
}

MemifWire::MemifWire(const std::vector<std::string>& sockets) : sockets_(sockets) {
  for (auto& socket : sockets_) {
    if (access(socket.c_str(), F_OK) == 0) throw Error("memif " + socket + ": it exists; remove it, or name another");
    if (socket.size() >= sizeof sockaddr_un::sun_path)
      throw Error(
          format("memif %s: a socket's name has at most %zu bytes", socket.c_str(), sizeof sockaddr_un::sun_path - 1));
    const auto folder = std::filesystem::absolute(socket).parent_path();
    if (access(folder.c_str(), W_OK | X_OK) != 0)
      throw Error("memif " + socket + ": cannot be made there: " + std::strerror(errno));
  }
  for (size_t i = 0; i < sockets_.size(); ++i) {
    ends_.push_back(
        dpdk::request_port(format("net_memif%zu,role=server,socket-abstract=no,socket=%s", i, sockets_[i].c_str())));
    ends_.back()->receives = ends_.back()->transmits = true;
  }
}

MemifWire::~MemifWire() {
  for (auto& socket : sockets_) unlink(socket.c_str());
}

std::string MemifWire::router_port(int i) const {
  return format("\"net_memif%d,role=client,socket-abstract=no,socket=%s\"", i,
                sockets_[static_cast<size_t>(i)].c_str());
}

std::vector<uint16_t> MemifWire::port_ids() const { return ids_of(ends_); }

Standalone::Standalone(int queues, unsigned packets) {
  const OwnFiles sockets;
  try {
    dpdk::start_eal({}, queues);
    const unsigned count = packets != 0 ? packets : 8192 + dpdk::packets_needed(queues);
    const size_t bytes = dpdk::pool_bytes(count, dpdk::data_room());
    memory_ = map_huge_pages(bytes);
    pool_ = dpdk::make_pool("wire", count, dpdk::data_room(), {memory_.get(), bytes});
    dpdk::start_ports(*pool_, queues);
  } catch (...) {
    dpdk::close_ports();
    throw;
  }
}

bool Standalone::linked() const {
  uint16_t id;
  RTE_ETH_FOREACH_DEV(id) {
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(id, &link) != 0 || link.link_status != RTE_ETH_LINK_UP) return false;
  }
  return true;
}

Standalone::~Standalone() { dpdk::close_ports(); }

}  // namespace heddle::bench
