#include "io/dpdk/start_port.h"

#include <linux/membarrier.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "io/dpdk/devices.h"
#include "io/dpdk/memif.h"

namespace heddle::dpdk {
namespace {

void check(int result, const Port& port, const char* what) {
  if (result == 0) return;
  throw Error(format("%s: %s: %s", port.device.c_str(), what, rte_strerror(result < 0 ? -result : result)));
}

/** Frees what has come in before the filter of limit_packet_sockets was there: the driver's sockets receive all frames
 *  from the moment in which EAL makes them. */
void empty_rings(const Port& port) {
  // The kernel looks at a socket's filter in RCU read-side sections: afterwards none is under way that began without
  // it.
  syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
  constexpr unsigned kDefaultFrames = 512;  // of a ring
  const std::string frames = argument_of(port.device, "framecnt");
  const auto most = frames.empty() ? kDefaultFrames : static_cast<unsigned>(std::strtoul(frames.c_str(), nullptr, 0));
  for (int queue = 0; queue < port.queues; ++queue) {
    rte_mbuf* packets[32];
    for (unsigned done = 0, n = 1; n > 0 && done < most; done += n) {
      n = rte_eth_rx_burst(port.id, static_cast<uint16_t>(queue), packets,
                           static_cast<uint16_t>(std::min(most - done, 32u)));
      rte_pktmbuf_free_bulk(packets, n);
    }
  }
  rte_eth_stats_reset(port.id);
}

void set_pause(const Port& port) {
  rte_eth_fc_conf control{};
  const int known = rte_eth_dev_flow_ctrl_get(port.id, &control);
  if (known != 0 && port.pause == RTE_ETH_FC_NONE) return;  // it has none
  check(known, port, "reading its flow control (PAUSE)");
  control.mode = static_cast<rte_eth_fc_mode>(port.pause);
  check(rte_eth_dev_flow_ctrl_set(port.id, &control), port, "setting its flow control (PAUSE)");
}

}  // namespace

void start_port(Port& port, rte_mempool* pool, int threads, int descriptors) {
  const std::string name = name_of(port.device);
  if (is_number(name)) {
    const unsigned long number = name.size() <= 5 ? std::stoul(name) : RTE_MAX_ETHPORTS;
    if (number >= RTE_MAX_ETHPORTS || !rte_eth_dev_is_valid_port(static_cast<uint16_t>(number)))
      throw Error(
          format("DPDK port %s does not exist: DPDK sees %u port(s); bind a NIC to a DPDK driver (dpdk-devbind.py) or "
                 "name a virtual device such as net_tap0",
                 name.c_str(), rte_eth_dev_count_avail()));
    port.id = static_cast<uint16_t>(number);
  } else if (rte_eth_dev_get_port_by_name(name.c_str(), &port.id) != 0) {
    if (is_virtual(name))
      throw Error(format(
          "DPDK could not make the virtual device '%s'; are its arguments right (see FromDPDKDevice), and "
          "does it need root (net_tap, net_af_packet, net_af_xdp)?%s",
          port.device.c_str(),
          name.starts_with("net_af_packet") ? " If it says PACKET_FANOUT, another program with such a device has the "
                                              "same group by chance: start again"
                                            : ""));
    throw Error(
        format("DPDK has no port '%s'; is it bound to a DPDK driver (dpdk-devbind.py --status)?", name.c_str()));
  }
  rte_eth_dev_info info{};
  check(rte_eth_dev_info_get(port.id, &info), port, "reading its abilities");
  const auto queues = static_cast<uint16_t>(std::max(threads, port.rx_queues));
  port.queues = queues;
  if ((port.receives && info.max_rx_queues < queues) || (port.transmits && info.max_tx_queues < queues))
    throw Error(
        format("%s: has %u receive and %u transmit queues, but %d are needed, one a thread or N_QUEUES; run "
               "with -j 1, or give the device more (af_xdp: queue_count=N)",
               port.device.c_str(), info.max_rx_queues, info.max_tx_queues, queues));
  // NICs split frames over buffers only when scatter is switched on, which it is not, and keep to what a buffer has, as
  // the drivers of packet sockets do; net_null says of every frame what it has been told.
  const uint32_t room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
  const uint64_t null_bytes = name.starts_with("net_null") ? null_frame_bytes(port.device) : 0;
  if (null_bytes > room && argument_of(port.device, "copy") == "1")
    throw Error(format("%s: with copy=1 it writes frames of %ju bytes into buffers of %u; give DPDKInfo(MBUF_SIZE %ju)",
                       port.device.c_str(), uintmax_t{null_bytes}, room, uintmax_t{null_bytes} + RTE_PKTMBUF_HEADROOM));
  port.checked = name.starts_with("net_null") ? null_bytes > room : is_virtual(name) && !name.starts_with("net_af_");
  rte_eth_conf configuration{};
  if ((threads > 1 || (port.spreads && queues > 1)) && (info.flow_type_rss_offloads & RTE_ETH_RSS_IP) != 0 &&
      port.receives) {
    configuration.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    configuration.rx_adv_conf.rss_conf.rss_hf =
        info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
  }
  if (port.mtu != 0 && port.interface.empty()) configuration.rxmode.mtu = static_cast<uint32_t>(port.mtu);
  // Drivers such as tap want as many receive as transmit queues.
  check(rte_eth_dev_configure(port.id, queues, queues, &configuration), port, "configuring it");
  uint16_t rx = static_cast<uint16_t>(port.rx_descriptors ? port.rx_descriptors : descriptors);
  uint16_t tx = static_cast<uint16_t>(port.tx_descriptors ? port.tx_descriptors : descriptors);
  check(rte_eth_dev_adjust_nb_rx_tx_desc(port.id, &rx, &tx), port, "choosing ring sizes");
  for (uint16_t queue = 0; queue < queues; ++queue) {
    check(rte_eth_rx_queue_setup(port.id, queue, rx, static_cast<unsigned>(rte_eth_dev_socket_id(port.id)), nullptr,
                                 pool),
          port, "setting up a receive queue");
    check(rte_eth_tx_queue_setup(port.id, queue, tx, static_cast<unsigned>(rte_eth_dev_socket_id(port.id)), nullptr),
          port, "setting up a transmit queue");
  }
  if (port.mac != click::EthernetAddress{}) {
    rte_ether_addr address{};
    std::copy(port.mac.bytes.begin(), port.mac.bytes.end(), address.addr_bytes);
    check(rte_eth_dev_default_mac_addr_set(port.id, &address), port, "setting its MAC address");
  }
  const bool limited = name.starts_with("net_af_packet") && (!port.outbound || port.protocol != 0);
  if (limited && !limit_packet_sockets(port.interface, port.outbound, port.protocol))
    throw Error(format("%s: OUTBOUND and PROTOCOL: %s", port.interface.c_str(), std::strerror(errno)));
  const int started = rte_eth_dev_start(port.id);
  if (started != 0 && name.starts_with("net_memif"))
    throw Error(port.device + ": it cannot connect; start the program that has role=server and the same socket first");
  check(started, port, "starting it");
  if (limited && port.receives) empty_rings(port);
  if (name.starts_with("net_memif") && port.device.find("zero-copy=yes") == std::string::npos) survive_peer(port.id);
  if (port.mtu != 0 && !port.interface.empty() && mtu_of(port.interface) != port.mtu &&
      !set_mtu(port.interface, port.mtu))
    throw Error(format("%s: setting its MTU to %d: %s", port.interface.c_str(), port.mtu, std::strerror(errno)));
  if (port.pause >= 0) set_pause(port);
  if (port.promiscuous && port.receives) rte_eth_promiscuous_enable(port.id);  // a device that cannot is promiscuous
}

}  // namespace heddle::dpdk
