#include "io/dpdk/watch.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include "io/dpdk/devices.h"
#include "io/dpdk/dpdk.h"
#include "io/dpdk/memif_buffers.h"

namespace heddle::dpdk {
namespace {

constexpr std::chrono::milliseconds kInterval{100};

/** A frame must fit one of the buffers that the client has made (memif_buffers.h), a VLAN tag included. */
uint32_t longest_over_memif(const Port& port, bool up) {
  constexpr uint32_t kTagBytes = 4;
  uint32_t bytes = kMemifDefaultBufferBytes;  // until the client is there
  if (is_memif_client(port.device)) {
    const std::string given = argument_of(port.device, "bsize");
    bytes = given.empty() ? kMemifBufferBytes : static_cast<uint32_t>(std::strtoul(given.c_str(), nullptr, 10));
  } else if (argument_of(port.device, "zero-copy") == "yes") {
    return UINT32_MAX;
  } else if (const uint32_t found = up ? smallest_memif_buffer() : 0; found != 0) {
    bytes = found;
  }
  return bytes - std::min(bytes, kTagBytes);
}

}  // namespace

Watch::Watch(const std::vector<std::unique_ptr<Port>>& ports) {
  for (auto& port : ports) {
    ports_.push_back(port.get());
    look(*port);  // what it finds is known before packets flow
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's handlers run on the program's threads
  thread_ = std::thread(&Watch::serve, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Watch::serve() {
  std::unique_lock lock(mutex_);
  do {
    for (Port* port : ports_) look(*port);
  } while (!wake_.wait_for(lock, kInterval, [this] { return ending_; }));
}

void Watch::look(Port& port) {
  if (port.removed) return;
  Link now = Link::down;
  if (!port.interface.empty()) {
    now = link_of(port.interface);
    if (const auto mtu = mtu_of(port.interface)) {
      constexpr uint32_t kEthernetHeaderBytes = 14;
      port.longest_frame = std::min(static_cast<uint32_t>(*mtu) + kEthernetHeaderBytes, kMaxJumboBytes);
    }
  } else {
    rte_eth_link link{};
    if (!rte_eth_dev_is_valid_port(port.id) || rte_eth_dev_is_removed(port.id) == 1)
      now = Link::gone;
    else if (rte_eth_link_get_nowait(port.id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
      now = Link::up;
  }
  if (name_of(port.device).starts_with("net_memif")) port.longest_frame = longest_over_memif(port, now == Link::up);
  // What tap makes is not there yet, or works on in another namespace.
  if (now == Link::gone && name_of(port.device).starts_with("net_tap")) now = port.was_up ? Link::up : Link::down;
  const bool up = now == Link::up;
  if (port.was_up && port.link_up && !up) port.link_downs.fetch_add(1);
  port.was_up = port.was_up || up;
  port.link_up = up;
  if (now == Link::gone) port.removed = true;
}

}  // namespace heddle::dpdk
