#include "io/dpdk/close_port.h"

#include <rte_alarm.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include <algorithm>
#include <cstdio>
#include <semaphore>
#include <string>

#include "io/dpdk/devices.h"

namespace heddle::dpdk {
namespace {

/** Calls `what(port)` on the thread on which DPDK deals with interrupts, and returns when it is done. Another thread
 *  than that one calls it. */
void call_between_interrupts(void (*what)(uint16_t), uint16_t port) {
  struct Call {
    void (*what)(uint16_t);
    uint16_t port;
    std::binary_semaphore done{0};
  } call{what, port};
  const auto run = [](void* argument) {
    auto& call = *static_cast<Call*>(argument);
    call.what(call.port);
    call.done.release();
  };
  rte_eal_alarm_set(1, run, &call) == 0 ? call.done.acquire() : what(port);
}

/** The file at which a net_memif server listens, or "". */
std::string memif_listens_at(const Port& port) {
  const std::string role = argument_of(port.device, "role");
  const bool is_server = role == "server" || role == "master";
  return is_server && argument_of(port.device, "socket-abstract") == "no" ? argument_of(port.device, "socket") : "";
}

/** net_memif frees what a connection had when its peer goes, on the interrupts' thread: at the same time on another, it
 *  would be freed twice. And it never stops listening: a peer that connects later would be told of in memory that is
 *  free. `file`: at which it listens, if nobody else does; or "". */
void close_memif(uint16_t port, const std::string& file) {
  const int log = rte_log_register("pmd.net.memif"), level = rte_log_get_level(static_cast<uint32_t>(log));
  if (!file.empty() && std::remove(file.c_str()) == 0)
    rte_log_set_level(static_cast<uint32_t>(log), RTE_LOG_EMERG);  // it says that it cannot remove it
  call_between_interrupts([](uint16_t id) { rte_eth_dev_stop(id); }, port);
  // In a later round, when peers that have connected meanwhile have been dealt with.
  call_between_interrupts([](uint16_t id) { rte_eth_dev_close(id); }, port);
  rte_log_set_level(static_cast<uint32_t>(log), static_cast<uint32_t>(level));
}

}  // namespace

void close_port(const Port& port, const std::vector<std::unique_ptr<Port>>& others) {
  const std::string name = name_of(port.device);
  if (!rte_eth_dev_is_valid_port(port.id)) return;
  if (name.starts_with("net_memif")) {
    const std::string file = memif_listens_at(port);
    const bool shared =
        std::ranges::any_of(others, [&](auto& other) { return !file.empty() && memif_listens_at(*other) == file; });
    close_memif(port.id, shared ? "" : file);
  } else {
    rte_eth_dev_stop(port.id);
    rte_eth_dev_close(port.id);
  }
  if (is_virtual(name)) rte_eal_hotplug_remove("vdev", name.c_str());
}

}  // namespace heddle::dpdk
